"""What the head alone decides, before `100 Continue` invites a body (http.md section 3.4)."""

from __future__ import annotations

from gateway.proxy.asking import read_asking
from gateway.proxy.decide import target_of
from gateway.proxy.plane import DataPlane
from gateway.proxy.problem import Problem, Refused
from gateway.proxy.request import Request
from gateway.routing.decision import NotRouted
from gateway.routing.resolve import resolve

_WHATEVER_THE_BODY = frozenset({"model_not_found", "selector_invalid", "selector_conflict", "dna_prefix_invalid"})
_IF_A_SELECTOR_WAS_SENT = frozenset({"version_not_found", "version_retired"})


def early_refusal(plane: DataPlane, head: Request) -> Problem | None:
    """Say why a request will be refused whatever its body says; None where it may yet be served."""
    snapshot = plane.snapshot()
    try:
        target = target_of(head)
        asking = read_asking(head, target, snapshot, request_id="")
    except Refused as refused:
        return refused.problem
    outcome = resolve(snapshot, asking.route)
    if not isinstance(outcome, NotRouted):
        return None
    named = asking.route.selectors and outcome.code in _IF_A_SELECTOR_WAS_SENT
    if not named and outcome.code not in _WHATEVER_THE_BODY:
        return None
    return Problem(outcome.status, outcome.code, outcome.detail, outcome.rejected, outcome.available)
