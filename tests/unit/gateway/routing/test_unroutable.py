"""Every refusal that asking again does not help says what to do, at bounded length."""

from __future__ import annotations

import pytest

from gateway.routing import unroutable
from gateway.routing.decision import NotRouted
from gateway.routing.resolve import resolve
from tests.support.fleets import MODEL, asking, fleet, together


def test_a_long_list_of_alternatives_is_cut() -> None:
    snapshot = together(*(fleet("v1.0.0", model_id=f"model-{number}") for number in range(150)))

    assert len(unroutable.model_required(snapshot).available) == unroutable.LISTED


@pytest.mark.parametrize(
    "refusal",
    [
        pytest.param(unroutable.model_not_found(fleet("v1.0.0"), "m" * 5000), id="model"),
        pytest.param(unroutable.dna_prefix_invalid("f" * 5000), id="prefix"),
        pytest.param(unroutable.selector_conflict("^1" * 2000, "^2" * 2000), id="conflict"),
        pytest.param(unroutable.alias_not_found(fleet("v1.0.0").models[MODEL], "a" * 5000), id="alias"),
    ],
)
def test_what_a_client_sent_is_repeated_at_bounded_length(refusal: NotRouted) -> None:
    assert len(refusal.detail) < 400


def test_an_endless_selector_is_not_repeated() -> None:
    refusal = resolve(fleet("v1.0.0"), asking("^1 " * 5000))

    assert isinstance(refusal, NotRouted)
    assert refusal.code == "selector_invalid"
    assert len(refusal.detail) < 400
