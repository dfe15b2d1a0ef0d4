"""Read a health reply of Consul into registrations: pure (consul.md section 8).

A reply that is not what Consul writes is refused whole; an entry that Consul wrote and nobody can dial or place is
read as far as it goes, with a fault, so that people see it.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from contracts.address import Address, AddressError, parse_address
from contracts.faults import quoted
from contracts.version import Version, VersionError
from gateway.sources.consul.failed import ConsulFailed, FailureKind
from gateway.sources.listing import CheckState, Registration

_NODE_MAINTENANCE = "_node_maintenance"
_SERVICE_MAINTENANCE = "_service_maintenance:"
_SCHEMES = ("http", "https")
"""How a worker may be spoken to; the first where its registration does not say."""


class _Part(msgspec.Struct, rename="pascal"):
    """A part of a health entry; what is not named here is passed over."""


class _Node(_Part):
    node: str
    address: str = ""


class _Weights(_Part):
    passing: int = 1
    warning: int = 1


class _Service(_Part):
    id: str = msgspec.field(name="ID")
    address: str = ""
    port: int = 0
    meta: dict[str, str] | None = None
    weights: _Weights = msgspec.field(default_factory=_Weights)


class _Check(_Part):
    id: str = msgspec.field(name="CheckID")
    status: str
    notes: str = ""


class _Entry(_Part):
    node: _Node
    service: _Service
    checks: list[_Check] | None = None


def read_registrations(body: bytes | str) -> tuple[Registration, ...]:
    """Read the body of `/v1/health/service/<service>`.

    Raises:
        ConsulFailed: The body is no such list: cut, a proxy's page, another API's answer.
    """
    try:
        entries = msgspec.json.decode(body, type=list[_Entry])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ConsulFailed(FailureKind.MALFORMED, f"Consul's reply is no list of instances: {error}") from error
    return tuple(map(_registration, entries))


def _registration(entry: _Entry) -> Registration:
    service, meta = entry.service, entry.service.meta or {}
    checks = entry.checks or []
    state = _worst(check for check in checks if not _is_maintenance(check, service.id))
    host = service.address or entry.node.address
    address, address_fault = _address(meta.get("scheme", _SCHEMES[0]), host, service.port)
    version, version_fault = _version(meta.get("version"))
    return Registration(
        id=service.id,
        node=entry.node.node,
        shown=f"{host}:{service.port}",
        address=address,
        version=version,
        model_id=meta.get("model_id"),
        dna=meta.get("dna"),
        check=state,
        weight=float(service.weights.warning if state is CheckState.WARNING else service.weights.passing),
        maintenance=_maintenance(checks, service.id),
        fault=address_fault or version_fault,
    )


def _worst(checks: Iterable[_Check]) -> CheckState:
    """Take the worst of all checks, those of the node among them; a word Consul does not use counts as critical."""
    states = {check.status for check in checks}
    if states - {CheckState.PASSING.value, CheckState.WARNING.value}:
        return CheckState.CRITICAL
    return CheckState.WARNING if CheckState.WARNING.value in states else CheckState.PASSING


def _is_maintenance(check: _Check, service_id: str) -> bool:
    return check.id in (_NODE_MAINTENANCE, _SERVICE_MAINTENANCE + service_id)


def _maintenance(checks: Iterable[_Check], service_id: str) -> str | None:
    """Give the operator's reason; None where nothing is in maintenance."""
    critical = (check for check in checks if check.status == CheckState.CRITICAL.value)
    return next((_reason(check) for check in critical if _is_maintenance(check, service_id)), None)


def _reason(check: _Check) -> str:
    """Consul writes a sentence of its own where the operator gave no reason."""
    return "" if check.notes.startswith("Maintenance mode is enabled for this") else check.notes


def _address(scheme: str, host: str, port: int) -> tuple[Address | None, str]:
    if scheme not in _SCHEMES:
        return None, f"Meta.scheme: {quoted(scheme)} is no scheme; write {' or '.join(_SCHEMES)}, or leave it out"
    try:
        return parse_address(f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"), ""
    except AddressError:
        return None, f"{quoted(f'{host}:{port}')} cannot be dialled; register a host name or an address, and a port"


def _version(text: str | None) -> tuple[Version | None, str]:
    if text is None:
        return None, "names no version; write it into Meta.version"
    try:
        return Version.parse(text), ""
    except VersionError as error:
        return None, f"Meta.version: {error}"
