"""What becomes of a request: it is routed, or answered by us. Pure."""

from __future__ import annotations

from typing import Final

from gateway.health.retry_after import retry_after_s
from gateway.proxy.asking import Asking, read_asking
from gateway.proxy.local import local_answer
from gateway.proxy.own import Known, OwnAnswer, from_local, from_problem, known_of
from gateway.proxy.problem import Family, Problem, Refused
from gateway.proxy.request import Request
from gateway.proxy.target import Target, parse_target
from gateway.routing.decision import NotRouted, Resolution
from gateway.routing.resolve import resolve
from gateway.routing.snapshot import Snapshot

_PLAIN: Final = Family.PLAIN


class Ticket:
    """A routed request: everything decided about it before an instance is picked. Its version is final."""

    __slots__ = ("asking", "route", "snapshot", "target")

    def __init__(self, target: Target, asking: Asking, route: Resolution, snapshot: Snapshot) -> None:
        self.target = target
        self.asking = asking
        self.route = route
        self.snapshot = snapshot


def decide(
    request: Request, snapshot: Snapshot, *, request_id: str, ready: bool, max_body: int, now: float, draw: float
) -> Ticket | OwnAnswer:
    """Decide a complete request on one snapshot.

    Args:
        request: The request, body included.
        snapshot: All documents and instances of one generation.
        request_id: Stands for the sticky key where the client sent none.
        ready: What `/readyz` says.
        max_body: Largest body where no contract says, in bytes.
        now: Monotonic second.
        draw: Uniform in [0, 1), spreads `Retry-After`.
    """
    family = _PLAIN
    try:
        target = target_of(request)
        family = target.family
        answer = local_answer(request, target, snapshot, ready=ready)
        if answer is not None:
            return from_local(answer, Known(request_id, snapshot.generation))
        asking = read_asking(request, target, snapshot, request_id=request_id)
    except Refused as refused:
        known = Known(request_id, snapshot.generation)
        return from_problem(refused.problem, known, family=family, path=request.path)
    route = resolve(snapshot, asking.route)
    if isinstance(route, NotRouted):
        known = known_of(route, request_id=request_id, generation=snapshot.generation)
        return from_problem(problem_of(route, now=now, draw=draw), known, family=family, path=request.path)
    too_large = body_problem(route, len(request.body), max_body=max_body)
    if too_large is not None:
        known = known_of(route, request_id=request_id, generation=snapshot.generation)
        return from_problem(too_large, known, family=family, path=request.path)
    return Ticket(target, asking, route, snapshot)


def target_of(request: Request) -> Target:
    """Read the target; worked out once for all requests that repeat the head.

    Raises:
        Refused: It cannot be sent on safely.
    """
    target = request.facts.target
    if target is None:
        target = request.facts.target = parse_target(request.target, request.one(b"host"))
    return target


def body_problem(route: Resolution, length: int, *, max_body: int) -> Problem | None:
    """Say that a body is too large for its version; `max_body` holds where the contract leaves it open."""
    most = route.view.max_body_bytes or max_body
    if length <= most:
        return None
    detail = f"{route.model.model_id} {route.view.version} takes no body larger than {most} bytes."
    return Problem(413, "payload_too_large", detail)


def problem_of(outcome: NotRouted, *, now: float, draw: float) -> Problem:
    """Turn "not routed" into the problem a client reads."""
    again = outcome.status in (429, 503)
    return Problem(
        outcome.status,
        outcome.code,
        outcome.detail,
        rejected=outcome.rejected,
        available=outcome.available,
        successor=outcome.successor,
        retry_after_s=retry_after_s(outcome.back_at, now=now, draw=draw) if again else None,
    )
