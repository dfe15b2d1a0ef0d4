"""Problems: RFC 9457 documents for answers we make ourselves, dressed for the API family that asked (clients.md 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import msgspec

from contracts.version import Version
from gateway.routing.pickers import Rejection


class Family(StrEnum):
    """The API family a path belongs to; it decides the form of errors."""

    PLAIN = "plain"
    OPENAI = "openai"
    OPEN_INFERENCE = "open_inference"


TITLES = {
    "bad_request": "Bad request",
    "model_required": "A model must be named",
    "selector_required": "A version must be named",
    "selector_invalid": "Selector not understood",
    "selector_conflict": "Selectors disagree",
    "dna_prefix_invalid": "DNA prefix not understood",
    "model_not_found": "Model not found",
    "version_not_found": "Version not found",
    "path_not_found": "Path not found",
    "method_not_allowed": "Method not allowed",
    "payload_too_large": "Body too large",
    "target_too_long": "Target too long",
    "headers_too_large": "Headers too large",
    "version_retired": "Version retired",
    "saturated": "All instances are at their limit",
    "dna_mismatch": "The answer did not match the contract",
    "upstream_connect": "Worker unreachable",
    "upstream_reset": "Worker broke off",
    "upstream_malformed": "Worker's answer malformed",
    "no_verified_instance": "No verified instance",
    "no_instance_up": "No instance up",
    "not_configured": "Not configured",
    "draining": "Draining",
    "upstream_timeout": "Worker too slow",
    "upstream_truncated": "Worker's answer cut short",
}

METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"

_OPENAI_TYPES = {429: "rate_limit_error"}


@dataclass(frozen=True, slots=True)
class Problem:
    """One error of ours, before it is dressed for a family.

    Attributes:
        status: HTTP status.
        code: One of `TITLES`.
        detail: One sentence for a person.
        rejected: Every candidate passed over, with its reason.
        available: Versions that exist, where that helps.
        successor: Version to move to, where the contract names one.
        retry_after_s: Whole seconds for `Retry-After`; None leaves the header out.
        allow: Methods for `Allow` (405 only).
        upgrade: Protocol for `Upgrade` (426 only).
        final: A second attempt was made: tells SDKs not to multiply attempts (`x-should-retry: false`).
    """

    status: int
    code: str
    detail: str
    rejected: Sequence[Rejection] = ()
    available: Sequence[str] = ()
    successor: Version | None = None
    retry_after_s: int | None = None
    allow: str | None = None
    upgrade: str | None = None
    final: bool = False


class Refused(Exception):
    """A request that is answered by a problem of ours; `close` ends the connection after it."""

    def __init__(self, problem: Problem, *, close: bool) -> None:
        super().__init__(problem.detail)
        self.problem = problem
        self.close = close


def refuse(status: int, code: str, detail: str, *, close: bool = True) -> Refused:
    """Make the refusal of a request that cannot be served as it came."""
    return Refused(Problem(status, code, detail), close=close)


def malformed(detail: str) -> Refused:
    """Make the refusal of bytes that cannot be read in exactly one way."""
    return refuse(400, "bad_request", detail)


def method_not_allowed(method: str) -> Refused:
    """Make the refusal of a method that is not served."""
    return Refused(Problem(405, "method_not_allowed", f"{method} is not served here.", allow=METHODS), close=True)


def draining() -> Problem:
    """Say that the process ends before a request was answered."""
    return Problem(503, "draining", "The gateway is shutting down; ask again.", retry_after_s=1)


def websocket_refused() -> Refused:
    """Make the refusal of a WebSocket: it is told what is spoken here (RFC 9110 section 15.5.22)."""
    return Refused(Problem(426, "bad_request", "WebSocket is not served here.", upgrade="HTTP/1.1"), close=True)


def document(problem: Problem, *, family: Family, request_id: str, path: str) -> dict[str, Any]:
    """Dress a problem for its family: the same members everywhere, plus what that family's clients read."""
    body: dict[str, Any] = {
        "type": f"urn:inference-gateway:{problem.code}",
        "title": TITLES[problem.code],
        "status": problem.status,
        "detail": problem.detail,
        "instance": path,
        "code": problem.code,
        "request_id": request_id,
        "rejected": [{"version": r.version, "instance": r.instance, "reason": r.reason} for r in problem.rejected],
    }
    if problem.available:
        body["available"] = list(problem.available)
    if problem.successor is not None:
        body["successor"] = str(problem.successor)
    if family is Family.OPENAI:
        body["error"] = openai_error(problem.status, problem.code, problem.detail)
    elif family is Family.OPEN_INFERENCE:
        body["error"] = f"{problem.code}: {problem.detail}"
    return body


def openai_error(status: int, code: str, detail: str) -> dict[str, Any]:
    """Shape the `error` member that OpenAI clients read."""
    kind = _OPENAI_TYPES.get(status) or ("invalid_request_error" if status < 500 else "server_error")
    return {"message": detail, "type": kind, "param": None, "code": code}


def encode(body: dict[str, Any]) -> bytes:
    """Encode a problem document."""
    return msgspec.json.encode(body)
