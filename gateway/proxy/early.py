"""What the head alone decides, before `100 Continue` invites a body (http.md section 3.4)."""

from __future__ import annotations

from gateway.proxy.asking import read_asking
from gateway.proxy.decide import body_problem, target_of
from gateway.proxy.plane import DataPlane
from gateway.proxy.problem import Family, Problem, Refused
from gateway.proxy.request import Request
from gateway.routing.decision import NotRouted
from gateway.routing.resolve import resolve

_WHATEVER_THE_BODY = frozenset({"model_not_found", "selector_invalid", "selector_conflict", "dna_prefix_invalid"})
_IF_A_SELECTOR_WAS_SENT = frozenset({"version_not_found", "version_retired"})


def early_refusal(plane: DataPlane, head: Request, length: int) -> Problem | None:
    """Say why a request will be refused whatever its body says; None where it may yet be served.

    Args:
        plane: The data plane.
        head: The request, its body still to come.
        length: Declared length of the body; 0 where it comes in chunks.
    """
    snapshot = plane.snapshot()
    try:
        target = target_of(head)
        asking = read_asking(head, target, snapshot, request_id="")
    except Refused as refused:
        return refused.problem
    outcome = resolve(snapshot, asking.route)
    if not isinstance(outcome, NotRouted):
        # Without a selector a canary may yet take the request, and the body may yet name another model.
        is_final = bool(asking.route.selectors) or not (outcome.model.slices or target.family is Family.OPENAI)
        return body_problem(outcome, length, max_body=plane.limits.max_body) if is_final else None
    named = asking.route.selectors and outcome.code in _IF_A_SELECTOR_WAS_SENT
    if not named and outcome.code not in _WHATEVER_THE_BODY:
        return None
    return Problem(outcome.status, outcome.code, outcome.detail, outcome.rejected, outcome.available)
