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


def look_ahead(plane: DataPlane, head: Request, length: int) -> Problem | int:
    """Say why a request will be refused whatever its body says, else how large that may become.

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
    if isinstance(outcome, NotRouted):
        named = asking.route.selectors and outcome.code in _IF_A_SELECTOR_WAS_SENT
        if named or outcome.code in _WHATEVER_THE_BODY:
            return Problem(outcome.status, outcome.code, outcome.detail, outcome.rejected, outcome.available)
        return plane.most_max_body
    names_a_model = target.model_id is not None or head.one(b"x-model-id") is not None
    body_is_read = target.family is Family.OPENAI or not names_a_model
    # Without a selector a canary may yet take the request, and the body may yet name another model or version.
    if not asking.route.selectors and (outcome.model.slices or body_is_read):
        return plane.most_max_body
    most = outcome.view.contract.limits.max_body_bytes or plane.limits.max_body
    return body_problem(outcome, length, max_body=plane.limits.max_body) or most
