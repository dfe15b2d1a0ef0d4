"""Answers the gateway makes itself, ready to be written: head lines, stamps, body."""

from __future__ import annotations

from dataclasses import dataclass

from contracts.version import Version
from gateway.proxy.local import LocalAnswer
from gateway.proxy.problem import Family, Problem, document, encode
from gateway.proxy.stamps import refusal_stamps
from gateway.routing.decision import NOTHING_ASKED, NotRouted, Resolution

_TOO_LARGE = 413


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a request when we answer it ourselves: it stands in the stamps and in the log."""

    request_id: str
    generation: int
    requested: str = NOTHING_ASKED
    model_id: str | None = None
    version: Version | None = None
    reason: str | None = None
    attempts: int = 0


@dataclass(frozen=True, slots=True)
class OwnAnswer:
    """An answer no worker made. `lines` are whole header lines, each with its CRLF."""

    status: int
    lines: bytes
    body: bytes
    known: Known
    code: str | None = None
    close: bool = False
    """Nothing more is read from the client: it may yet send what was refused."""


def from_local(answer: LocalAnswer, known: Known) -> OwnAnswer:
    """Answer one of our own paths."""
    return OwnAnswer(answer.status, _lines(known, b"application/json"), encode(answer.body), known)


def from_problem(problem: Problem, known: Known, *, family: Family, path: str) -> OwnAnswer:
    """Answer with a problem document."""
    body = encode(document(problem, family=family, request_id=known.request_id, path=path))
    lines = _lines(known, b"application/problem+json")
    if problem.retry_after_s is not None:
        lines += b"retry-after: %d\r\n" % problem.retry_after_s
    if problem.allow is not None:
        lines += b"allow: %b\r\n" % problem.allow.encode()
    if problem.upgrade is not None:
        lines += b"connection: upgrade\r\nupgrade: %b\r\n" % problem.upgrade.encode()
    if problem.final:
        lines += b"x-should-retry: false\r\n"
    return OwnAnswer(problem.status, lines, body, known, problem.code, close=problem.status == _TOO_LARGE)


def known_of(outcome: Resolution | NotRouted, *, request_id: str, generation: int, attempts: int = 0) -> Known:
    """Say what routing found out, as far as it came."""
    if isinstance(outcome, NotRouted):
        return Known(request_id, generation, outcome.requested, outcome.model_id, outcome.version, outcome.reason)
    version = outcome.view.version
    return Known(request_id, generation, outcome.requested, outcome.model.model_id, version, outcome.reason, attempts)


def _lines(known: Known, content_type: bytes) -> bytes:
    stamps = refusal_stamps(
        requested=known.requested,
        generation=known.generation,
        attempts=known.attempts,
        request_id=known.request_id,
        model_id=known.model_id,
        version=known.version,
        reason=known.reason,
    )
    return stamps + b"content-type: %b\r\n" % content_type
