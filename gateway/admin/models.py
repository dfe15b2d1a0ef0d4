"""The forms of the admin port's answers. JSON names are a promise (operations.md section 7)."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict


class _Answer(BaseModel):
    model_config = ConfigDict(frozen=True)


class Problem(_Answer):
    """An error (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    code: str


class Live(_Answer):
    """The process runs."""

    status: Literal["ok", "failing"] = "ok"
    reason: str | None = None
    """Which loops in the background are dead; restarting the process is the cure."""


class Ready(_Answer):
    """Whether clients should be sent here."""

    ready: bool
    reason: str
    generation: int


class SourceStatus(_Answer):
    """Where documents come from and how that goes."""

    kind: str
    place: str
    ok: bool
    problems: list[str]
    last_read_seconds_ago: float | None
    last_good_at: datetime | None
    kept_at: datetime | None
    """Where a copy on disk stands in for the source: when the source last confirmed it."""
    kept_seconds_ago: float | None


class RightsStatus(_Answer):
    """Whose token Consul is read with."""

    accessor: str
    policies: list[str]
    problem: str
    """Why that is not known; empty where it is."""


class SharingStatus(_Answer):
    """How verdicts are shared with other gateways."""

    place: str
    member: str | None
    """This gateway's name among the members; null while it is alone and probes everything."""
    members: list[str]
    problem: str
    """Why it is alone; empty where it is not."""
    instances: int
    probed: int
    """How many of the instances fall to this gateway."""
    doubted_elsewhere: int
    """How many are kept out by what others saw."""
    told: int
    left_out: int
    heard_seconds_ago: float | None


class FaultStatus(_Answer):
    """One fault of a document."""

    path: str
    message: str


class InForceStatus(_Answer):
    """The state of a document that serves."""

    sha: str
    generation: int


class DocumentStatus(_Answer):
    """One document."""

    key: str
    kind: str
    origin: str
    state: str
    faults: list[FaultStatus]
    warnings: list[FaultStatus]
    in_force: InForceStatus | None
    """What serves of it; where the document is rejected or missing, its last good state."""
    signed_by: str | None
    """Id of the key that signed what serves; None where it is not signed, or nobody checked."""
    note: str
    """What else an operator should know, such as that its identity is only watched."""


class ProbeStatus(_Answer):
    """The last probe of an instance."""

    at: datetime
    seconds_ago: float
    outcome: str
    detail: str
    http_status: int | None
    duration_ms: float


class InstanceStatus(_Answer):
    """One instance."""

    id: str
    url: str
    address: str
    """Literal address that probes and requests go to; empty until a name was resolved."""
    model_id: str
    version: str
    ready: bool
    reason: str
    """Why it gets no request; empty where it does."""
    identity: str
    identity_reason: str
    strikes: int
    liveness: str
    liveness_reason: str
    dna: str | None
    digest: str | None
    assurance: str | None
    enforcement: str
    gpu: str | None
    boot_id: str | None
    in_flight: int
    max_in_flight: int
    weight: float
    """Its share of its version's requests, beside the weights of its siblings."""
    draining: str
    """Why it gets no new requests by an operator's wish; empty where nobody wishes that."""
    registration: str
    """Node and service id in the catalogue; empty where the contract lists the instance itself."""
    registered_dna: str | None
    """What the registration says of its DNA: a hint, `dna` is what it states itself."""
    last_probe: ProbeStatus | None


class RegistrationFaultStatus(_Answer):
    """One registration that is odd."""

    registration: str
    """Node and service id."""
    address: str
    oddity: str
    message: str


class ServiceStatus(_Answer):
    """One service of the catalogue that contracts name."""

    service: str
    ok: bool
    problem: str
    """Why its list is not taken at its word; empty where it is."""
    last_read_seconds_ago: float | None
    """None: never read yet."""
    registrations: int
    """Those in use, or shown with a fault; those that stay without being listed among them."""
    kept: int
    """How many stay although the last list did not have them."""
    faults: list[RegistrationFaultStatus]


class Status(_Answer):
    """Everything, what is amiss first."""

    gateway: str
    program: str
    compiled: bool
    """Whether the way of a request runs as machine code; the same answers from sources take three times as long."""
    generation: int
    config_hash: str
    signers: list[str]
    """Ids of the keys of which one must have signed every document (GATEWAY_CONTRACT_KEYS); empty: none is checked."""
    started_at: datetime
    uptime_seconds: float
    ready: bool
    draining: bool
    source: SourceStatus
    rights: RightsStatus | None
    """Null where documents do not come from Consul."""
    sharing: SharingStatus | None
    """Null where verdicts are not shared."""
    documents_by_state: dict[str, int]
    instances_by_identity: dict[str, int]
    services: list[ServiceStatus]
    documents: list[DocumentStatus]
    instances: list[InstanceStatus]


class CanaryStatus(_Answer):
    """One canary rule."""

    version: str
    traffic_percentage: float
    dna_prefix: str | None


class VersionStatus(_Answer):
    """One version of a model."""

    version: str
    status: str
    enforcement: str
    instances: int
    ready: int
    tied: bool
    deprecated_at: datetime | None
    sunset_at: datetime | None
    successor: str | None


class ModelStatus(_Answer):
    """One model: its versions, highest first, and its route."""

    model_id: str
    default: str | None
    aliases: dict[str, str]
    canary_rules: list[CanaryStatus]
    versions: list[VersionStatus]


class Models(_Answer):
    """All models."""

    generation: int
    models: list[ModelStatus]


class Candidate(_Answer):
    """One instance that was looked at."""

    version: str
    instance: str
    weight: float
    kept: bool
    reason: str


class Explanation(BaseModel):
    """The decision a request would get. Members that do not apply are absent."""

    model_config = ConfigDict(frozen=True, extra="allow")

    generation: int
    model: str | None
    requested: str
    reason: str | None
    version: str | None
    instance: str | None
    dna_prefix: str | None
    canary: dict[str, Any] | None
    candidates: list[Candidate]
    sticky_given: bool
    """False: a sticky key was drawn for this answer, as a request's own id would be."""
    status: int | None = None
    code: str | None = None
    detail: str | None = None
    available: list[str] | None = None
    successor: str | None = None


class Confirmation(BaseModel):
    """The operator's word."""

    model_config = ConfigDict(extra="forbid")

    confirm: bool


class Pruned(_Answer):
    """What was removed."""

    removed: list[str]
    generation: int
