"""The stamps of an answer: what was asked, what answered, and why (design section 4, rule 4; clients.md section 3)."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import format_datetime
from functools import lru_cache
from typing import Final
from urllib.parse import quote

from contracts.contract import Contract
from contracts.version import Version
from gateway.proxy.identity import Stated
from gateway.routing.resolve import Resolution

INPUT_HASH_SHOWN: Final = 12
"""Hex characters of the input hash that clients are shown; the log keeps all 64."""
_HEADER_SAFE = "".join(chr(code) for code in range(0x21, 0x7F) if chr(code) != "%") + " %"


StampKey = tuple[str, str, int]
"""Selector as sent, reason, generation: with the version they decide `route_stamps`."""
_MOST_REMEMBERED: Final = 256


def route_stamps(route: Resolution, known: dict[StampKey, bytes], *, attempts: int, request_id: str) -> bytes:
    """Encode the stamps of a request whose version is resolved.

    Args:
        route: How it was resolved.
        known: Remembers what is encoded already for this version.
        attempts: How many instances were asked.
        request_id: The client's or ours.
    """
    key = (route.requested, route.reason, route.generation)
    lines = known.get(key)
    if lines is None:
        if len(known) >= _MOST_REMEMBERED:
            known.clear()
        lines = known[key] = _version_stamps(route)
    return b"%bx-route-attempts: %d\r\nx-request-id: %b\r\n" % (lines, attempts, request_id.encode())


def _version_stamps(route: Resolution) -> bytes:
    return (
        f"x-model-id: {_safe(route.model.model_id)}\r\nx-model-version: {route.view.version}\r\n"
        f"x-model-requested: {_safe(route.requested)}\r\nx-route-reason: {route.reason}\r\n"
        f"x-config-generation: {route.generation}\r\n"
    ).encode("ascii")


def refusal_stamps(
    *,
    requested: str,
    generation: int,
    attempts: int,
    request_id: str,
    model_id: str | None = None,
    version: Version | None = None,
    reason: str | None = None,
) -> bytes:
    """Encode the stamps of an answer of ours: what is known and nothing more; nothing answered, so no DNA."""
    lines = [
        f"x-model-requested: {_safe(requested)}",
        f"x-route-attempts: {attempts}",
        f"x-config-generation: {generation}",
        f"x-request-id: {request_id}",
    ]
    if model_id is not None:
        lines.append(f"x-model-id: {_safe(model_id)}")
    if version is not None:
        lines.append(f"x-model-version: {version}")
    if reason is not None:
        lines.append(f"x-route-reason: {reason}")
    return ("\r\n".join(lines) + "\r\n").encode("ascii")


def worker_stamps(stated: Stated, assurance: str | None) -> bytes:
    """Encode what the worker stated of itself, as it was checked.

    Only well-formed values are repeated; `assurance` is the weaker of the worker's word and how it could be compared.
    """
    dna, input_hash, lines = stated.dna, stated.input_hash, _lasting_stamps(stated.digest, assurance)
    if dna is not None and _is_token(dna):
        lines = b"x-inference-dna: %b\r\n%b" % (dna.encode(), lines)
    if input_hash and _is_token(input_hash):
        lines += b"x-inference-input-hash: %b\r\n" % input_hash[:INPUT_HASH_SHOWN].encode()
    return lines


@lru_cache(maxsize=1024)
def _lasting_stamps(digest: str | None, assurance: str | None) -> bytes:
    """Encode what a worker states on every answer alike."""
    lines = b""
    if digest is not None and _is_token(digest):
        lines += b"x-inference-digest: %b\r\n" % digest.encode()
    if assurance is not None:
        lines += b"x-inference-assurance: %b\r\n" % assurance.encode()
    return lines


def lifecycle_stamps(contract: Contract) -> bytes:
    """Encode `Deprecation` (RFC 9745), `Sunset` (RFC 8594) and `Link` where the contract has those dates."""
    if contract.deprecated_at is None and contract.sunset_at is None:
        return b""
    lines = []
    if contract.deprecated_at is not None:
        lines.append(f"deprecation: @{int(contract.deprecated_at.timestamp())}")
    if contract.sunset_at is not None:
        lines.append(f"sunset: {_http_date(contract.sunset_at)}")
    if contract.successor is not None:
        model = quote(contract.model_id, safe="")
        lines.append(f'link: </v1/models/{model}@{contract.successor}>; rel="successor-version"')
    return ("\r\n".join(lines) + "\r\n").encode("ascii")


def http_date(seconds: float) -> bytes:
    """Write wall-clock seconds as an HTTP date (RFC 9110 section 5.6.7)."""
    return _http_date(datetime.fromtimestamp(seconds, UTC)).encode("ascii")


def _http_date(moment: datetime) -> str:
    return format_datetime(moment.astimezone(UTC), usegmt=True)


def _is_token(text: str) -> bool:
    return text.isascii() and (text.isalnum() or text.replace(":", "").replace("-", "").isalnum())


def _safe(text: str) -> str:
    """Make text from a path or a body fit for a header line: what is not printable ASCII is percent-encoded."""
    return text if text.isascii() and text.isprintable() else quote(text, safe=_HEADER_SAFE)
