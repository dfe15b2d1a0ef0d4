"""Every number and choice of the gateway, with its default; the only reader of the environment (design rule 6).

A setting named `probe_interval_s` here is the variable `GATEWAY_PROBE_INTERVAL`: durations are seconds.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Collection, Iterator
from dataclasses import dataclass, fields
from difflib import get_close_matches
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from gateway.control.alert import AlertSettings
from gateway.health import liveness, probe_schedule, retry_budget
from gateway.proxy.limits import Limits
from gateway.sharing import division

PREFIX = "GATEWAY_"
LIMITS = Limits()
LIVENESS = liveness.DEFAULTS
ALERTS = AlertSettings()
BUDGET = retry_budget.DEFAULTS

Port = Annotated[int, Field(ge=0, le=65535)]
Positive = Annotated[float, Field(gt=0)]
Duration = Annotated[float, Field(ge=0)]
Count = Annotated[int, Field(ge=1)]


def variable(name: str) -> str:
    """Give the environment variable of a setting."""
    return PREFIX + name.removesuffix("_s").upper()


def _alias(name: str) -> str:
    return variable(name).lower()


class SettingsRefused(ValueError):
    """Settings that cannot be used; one sentence a line, each naming its variable."""


class Settings(BaseSettings):
    """All settings. Options of the command line come first, then the environment, then these defaults."""

    model_config = SettingsConfigDict(
        alias_generator=_alias, populate_by_name=True, frozen=True, extra="ignore", str_strip_whitespace=True
    )

    # where things are
    source: str | None = Field(
        None, description="Where documents come from: file:DIR, or consul://HOST:PORT/inference?token_file=FILE."
    )
    host: str = Field("127.0.0.1", description="Address the data port listens on.")
    port: Port = Field(8080, description="Data port: client requests. 0 takes a free one.")
    admin_host: str | None = Field(None, description="Address the admin port listens on; as host where it is not set.")
    admin_port: Port = Field(8081, description="Admin port: probes, metrics, status. 0 takes a free one.")
    id: str = Field(default_factory=socket.gethostname, description="Name of this gateway in logs, status and alerts.")
    log_format: Literal["auto", "json", "text"] = Field(
        "auto", description="Form of the log on standard output; auto: text on a terminal, else JSON."
    )
    log_queue: Count = Field(16_384, description="Log lines that may wait to be written; more are dropped and counted.")

    # documents
    source_poll_s: Positive = Field(0.5, description="Between two looks at the folder of documents.")
    source_settle_s: Duration = Field(0.1, description="Between the two looks that must agree where something changed.")
    max_document: Count = Field(512 * 1024, description="Largest document, in bytes.")
    source_wait_s: Annotated[float, Field(ge=1, le=600)] = Field(
        60.0, description="Longest wait of one read of Consul for a change."
    )
    source_jitter_s: Duration = Field(
        5.0, description="The first read of Consul comes after up to so long, so that a fleet does not start as one."
    )
    source_max_bytes: Count = Field(
        8 * 1024 * 1024, description="Most bytes of documents that are read from Consul at once."
    )
    kept_folder: str = Field(
        "~/.local/state/dna-gateway",
        description="Folder of the copy of the last good documents of Consul, for a start without it; empty: none.",
    )
    kept_limit_s: Positive = Field(
        7 * 86_400.0, description="A copy that Consul has not confirmed for longer is not used."
    )
    contract_keys: Annotated[tuple[Path, ...], NoDecode] = Field(
        (), description="Files of public keys, a.pub,b.pub: only documents that one of them signed are accepted."
    )
    history_kept: Count = Field(
        20, description="Entries kept in the history of a document that `dna` commands write to Consul."
    )

    # verdicts shared with other gateways
    share_verdicts: str | None = Field(
        None,
        description="Consul through which gateways share verdicts, consul://HOST:PORT/PREFIX, or off;"
        " that of the source where it is one.",
    )
    share_probers: Count = Field(division.PROBERS, description="Gateways that probe each instance; all where fewer.")

    # probes and liveness
    probe_interval_s: Positive = Field(
        probe_schedule.INTERVAL_S, description="Between probes of an instance in good order, 10 % more or less."
    )
    probe_timeout_s: Positive = Field(2.0, description="For connecting and for each read of a probe.")
    probe_concurrency: Count = Field(64, description="Probes under way at one time.")
    probe_rate: Positive = Field(200.0, description="Probes a second at the most.")
    probe_max_body: Count = Field(256 * 1024, description="Largest body of a probe's answer, in bytes.")
    probe_rise: Count = Field(LIVENESS.rise, description="Passing probes in a row that bring an instance up.")
    probe_fall: Count = Field(LIVENESS.fall, description="Failing probes in a row that bring an instance down.")
    outlier_failures: Count = Field(
        LIVENESS.outlier_failures, description="Failed requests in a row that take an instance down."
    )
    outlier_time_s: Positive = Field(LIVENESS.outlier_time_s, description="Length of the first outlier time.")
    outlier_time_cap_s: Positive = Field(LIVENESS.outlier_time_cap_s, description="Longest outlier time.")
    outlier_jitter: Annotated[float, Field(ge=0, le=1)] = Field(
        LIVENESS.outlier_jitter, description="Share of an outlier time that chance may add."
    )
    outlier_decay_s: Positive = Field(
        LIVENESS.outlier_decay_s, description="Time up that takes one outlier time off the count."
    )
    slow_start_s: Duration = Field(30.0, description="Over which an instance that became ready gets its full share.")
    retry_budget_share: Annotated[float, Field(ge=0, le=1)] = Field(
        BUDGET.share, description="Repeats per request in flight."
    )
    retry_budget_floor: Annotated[int, Field(ge=0)] = Field(
        BUDGET.floor, description="Repeats that are always allowed."
    )
    retry_budget_ttl_s: Positive = Field(BUDGET.ttl_s, description="How long a repeat counts against the budget.")

    # alerts
    alert_url: str | None = Field(
        None, description="Where alerts are posted (Alertmanager API v2); without a path, /api/v2/alerts is appended."
    )
    alert_repeat_s: Positive = Field(ALERTS.repeat_s, description="Between two posts of an alert that lasts.")
    alert_timeout_s: Positive = Field(ALERTS.timeout_s, description="For posting alerts.")
    alert_backoff_s: Positive = Field(ALERTS.backoff_s, description="First pause after a failed post; it doubles.")
    alert_backoff_cap_s: Positive = Field(ALERTS.backoff_cap_s, description="Longest pause after a failed post.")
    alert_capacity: Count = Field(ALERTS.capacity, description="Alerts that are kept; more are dropped and counted.")
    admin_url: str | None = Field(
        None, description="How people reach the admin port; the link in alerts. http://<id>:<admin port> by default."
    )

    # the data plane
    worker_ca_file: str | None = Field(
        None, description="Certificates (PEM) that sign those of workers; this machine's where it is not set."
    )
    client_header_timeout_s: Positive = Field(
        LIMITS.client_header_timeout_s, description="For the whole head of a request."
    )
    client_body_idle_s: Positive = Field(
        LIMITS.client_body_idle_s, description="Between two reads of a request's body."
    )
    client_body_least_rate: Count = Field(
        LIMITS.client_body_least_rate, description="Bytes a second a body must bring once ten seconds have passed."
    )
    client_keepalive_s: Positive = Field(LIMITS.client_keepalive_s, description="An idle client connection is kept.")
    client_max_age_s: Positive = Field(
        LIMITS.client_max_age_s, description="After which a client connection is closed with its next answer."
    )
    client_write_stall_s: Positive = Field(
        LIMITS.client_write_stall_s, description="A client may take no byte of its answer."
    )
    lingering_close_s: Positive = Field(LIMITS.lingering_close_s, description="For a client to read an early answer.")
    lingering_close_bytes: Count = Field(LIMITS.lingering_close_bytes, description="Bytes read off meanwhile.")
    upstream_keepalive_s: Positive = Field(
        LIMITS.upstream_keepalive_s, description="An idle connection to a worker is kept."
    )
    admission_wait_s: Duration = Field(LIMITS.admission_wait_s, description="A request may wait for room.")
    admission_queue_floor: Count = Field(
        LIMITS.admission_queue_floor, description="Requests of one version that may wait at the least."
    )
    max_target: Count = Field(LIMITS.max_target, description="Longest request target, in bytes; above: 414.")
    max_head: Count = Field(LIMITS.max_head, description="Longest head of a request, in bytes; above: 431.")
    max_headers: Count = Field(LIMITS.max_headers, description="Most header lines of a request; above: 431.")
    max_trailer: Count = Field(LIMITS.max_trailer, description="Longest trailers of a request, in bytes; above: 400.")
    max_chunk_extension: Count = Field(
        LIMITS.max_chunk_extension, description="Longest chunk extensions of a request, in bytes; above: 400."
    )
    max_body: Count = Field(LIMITS.max_body, description="Largest body where no contract says, in bytes; above: 413.")
    max_buffered: Count = Field(LIMITS.max_buffered, description="Bytes of request bodies in memory; above: 429.")
    max_worker_head: Count = Field(
        LIMITS.max_worker_head, description="Longest head of an answer, in bytes; above: 502."
    )
    max_worker_headers: Count = Field(
        LIMITS.max_worker_headers, description="Most header lines of an answer; above: 502."
    )
    stream_buffer_high: Count = Field(
        LIMITS.stream_buffer_high, description="Bytes towards a client that stop reading."
    )
    stream_buffer_low: Count = Field(
        LIMITS.stream_buffer_low, description="Bytes towards a client that resume reading."
    )
    max_pipelined_bytes: Count = Field(LIMITS.max_pipelined_bytes, description="Bytes of requests read ahead.")
    max_connections: Count = Field(LIMITS.max_connections, description="Client connections in all.")
    max_connections_per_address: Count = Field(
        LIMITS.max_connections_per_address,
        description="Client connections of one address; this machine and trusted proxies have no such limit.",
    )
    trusted_proxies: Annotated[tuple[IPv4Network | IPv6Network, ...], NoDecode] = Field(
        LIMITS.trusted_proxies,
        description="Proxies before the gateway, as 10.0.0.0/8,fd00::/8: their X-Forwarded-* lines are believed.",
    )

    # the end
    drain_deadline_s: Duration = Field(LIMITS.drain_deadline_s, description="For requests under way at the end.")
    drain_accept_s: Duration = Field(
        LIMITS.drain_accept_s, description="New connections are still accepted at the end; 10 without a preStop sleep."
    )

    @model_validator(mode="before")
    @classmethod
    def _drop_service_links(cls, values: dict[str, Any]) -> dict[str, Any]:
        # Kubernetes sets GATEWAY_PORT=tcp://10.0.0.1:8080 in every pod beside a Service that is called `gateway`.
        return {name: value for name, value in values.items() if not _is_service_link(value)}

    @field_validator("alert_url", "admin_url", "source", "admin_host", "worker_ca_file")
    @classmethod
    def _empty_is_unset(cls, text: str | None) -> str | None:
        return text or None

    @field_validator("trusted_proxies", mode="before")
    @classmethod
    def _read_networks(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        try:
            return tuple(ip_network(part.strip()) for part in value.split(",") if part.strip())
        except ValueError as error:
            raise ValueError(f"write networks such as 10.0.0.0/8,fd00::/8; {error}") from error

    @field_validator("contract_keys", mode="before")
    @classmethod
    def _read_paths(cls, value: object) -> object:
        return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value

    @field_validator("alert_url", "admin_url")
    @classmethod
    def _is_http(cls, url: str | None) -> str | None:
        if url is not None and not url.lower().startswith(("http://", "https://")):
            raise ValueError("write a URL that begins with http:// or https://")
        return url

    @model_validator(mode="after")
    def _buffers_in_order(self) -> Settings:
        if self.stream_buffer_low >= self.stream_buffer_high:
            raise ValueError("stream_buffer_low must be below stream_buffer_high")
        return self

    @property
    def limits(self) -> Limits:
        """The numbers of the data plane."""
        return Limits(**{field.name: getattr(self, field.name) for field in fields(Limits)})

    @property
    def liveness(self) -> liveness.LivenessSettings:
        """The numbers of liveness."""
        return liveness.LivenessSettings(
            rise=self.probe_rise,
            fall=self.probe_fall,
            outlier_failures=self.outlier_failures,
            outlier_time_s=self.outlier_time_s,
            outlier_time_cap_s=self.outlier_time_cap_s,
            outlier_jitter=self.outlier_jitter,
            outlier_decay_s=self.outlier_decay_s,
        )

    @property
    def alerts(self) -> AlertSettings:
        """The numbers of alerts."""
        return AlertSettings(
            repeat_s=self.alert_repeat_s,
            timeout_s=self.alert_timeout_s,
            backoff_s=self.alert_backoff_s,
            backoff_cap_s=self.alert_backoff_cap_s,
            capacity=self.alert_capacity,
        )

    @property
    def retry_budget(self) -> retry_budget.BudgetSettings:
        """The numbers of the retry budget."""
        return retry_budget.BudgetSettings(
            share=self.retry_budget_share, floor=self.retry_budget_floor, ttl_s=self.retry_budget_ttl_s
        )


def _is_service_link(value: object) -> bool:
    return isinstance(value, str) and value.startswith(("tcp://", "udp://"))


def load(**options: Any) -> Settings:
    """Read settings: the options that are not None, then the environment, then the defaults.

    Raises:
        SettingsRefused: A value cannot be used; every fault is named.
    """
    try:
        return Settings(**{name: value for name, value in options.items() if value is not None})
    except ValidationError as error:
        given = {name for name, value in options.items() if value is not None}
        raise SettingsRefused("\n".join(_sentence(fault, given) for fault in error.errors())) from error


def _sentence(fault: Any, given: Collection[str]) -> str:
    where = str(fault["loc"][0]) if fault["loc"] else ""
    if where in given:
        name = f"--{where.removesuffix('_s').replace('_', '-')}"
    else:
        name = where.upper() if where.startswith(PREFIX.lower()) else variable(where) if where else "settings"
    shown = f", not {fault['input']!r}" if isinstance(fault["input"], (str, int, float)) else ""
    return f"{name}: {fault['msg'].removeprefix('Value error, ').removeprefix('Input ')}{shown}"


@dataclass(frozen=True, slots=True)
class Shown:
    """One setting as people read it.

    Attributes:
        name: Name in the code.
        variable: Environment variable.
        value: As it is now.
        default: As it would be.
        origin: `default`, `environment` or `option`.
        description: What it does.
    """

    name: str
    variable: str
    value: Any
    default: Any
    origin: str
    description: str


def show(settings: Settings) -> Iterator[Shown]:
    """List every setting with its value and where the value came from."""
    present = {name.upper() for name in os.environ}
    for name, field in Settings.model_fields.items():
        origin = "default"
        if name in settings.model_fields_set:
            origin = "environment" if variable(name) in present else "option"
        value = getattr(settings, name)
        default = None if field.default_factory else field.default
        yield Shown(name, variable(name), value, default, origin, field.description or "")


def unknown_variables() -> list[str]:
    """Describe `GATEWAY_*` variables that are no setting: a slip of the pen would else be silent."""
    known = {variable(name) for name in Settings.model_fields}
    strange = sorted(name for name in os.environ if name.startswith(PREFIX) and name not in known)
    return [_unknown(name, known) for name in strange if not _is_injected(name)]


def _is_injected(name: str) -> bool:
    """Kubernetes describes a Service called `gateway` by these."""
    return name.startswith(("GATEWAY_PORT_", "GATEWAY_SERVICE_"))


def _unknown(name: str, known: set[str]) -> str:
    close = get_close_matches(name, known, n=1)
    return f"{name} is no setting" + (f"; did you mean {close[0]}?" if close else "")
