"""From selector texts to one version, without the request around them (test_resolve.py has the whole way)."""

from __future__ import annotations

import pytest

from contracts.selector import Exact, Range, parse_selector
from gateway.routing.decision import NotRouted
from gateway.routing.selection import agreed, can_answer, in_service, select
from gateway.routing.snapshot import VersionView
from tests.support.fleets import A100, H100, MODEL, fleet, served, unserved, worker

MODEL_VIEW = fleet("v2.4.0", "v2.5.0", route={"aliases": {"stable": "v2.4.0", "recent": "^2"}}).models[MODEL]


@pytest.mark.parametrize(
    ("texts", "meant"),
    [
        pytest.param(["v2.4.0"], "v2.4.0", id="one"),
        pytest.param(["v2.4.0", "=2.4.0", "2.4.0"], "v2.4.0", id="three-spellings-of-one-version"),
        pytest.param(["^2", "^2.x"], "^2", id="two-spellings-of-one-range"),
        pytest.param(["stable"], "v2.4.0", id="an-alias-of-a-version"),
        pytest.param(["recent", " recent"], "^2", id="an-alias-of-a-range-twice"),
    ],
)
def test_selectors_that_agree_are_one_with_aliases_looked_up(texts: list[str], meant: str) -> None:
    assert agreed(MODEL_VIEW, texts) == parse_selector(meant)


@pytest.mark.parametrize(
    ("texts", "code"),
    [
        (["v2.4.0", "v2.5.0"], "selector_conflict"),
        (["v2.4.0", "v2.4.0", "v2.5.0"], "selector_conflict"),
        (["stable", "v2.4.0"], "selector_conflict"),
        (["", "v2.4.0"], "selector_invalid"),
        (["v2.4.0", ""], "selector_invalid"),
        (["latest"], "version_not_found"),
    ],
)
def test_selectors_that_lead_nowhere(texts: list[str], code: str) -> None:
    outcome = agreed(MODEL_VIEW, texts)

    assert isinstance(outcome, NotRouted)
    assert outcome.code == code


@pytest.mark.parametrize(
    ("view", "prefix", "answers"),
    [
        pytest.param(served("v1.0.0"), None, True, id="ready"),
        pytest.param(served("v1.0.0", worker("v1.0.0", max_in_flight=0)), None, True, id="full-ones-count"),
        pytest.param(served("v1.0.0", worker("v1.0.0", refused="down: x")), None, False, id="none-ready"),
        pytest.param(unserved("v1.0.0"), None, False, id="no-instance"),
        pytest.param(served("v1.0.0", status="draining"), None, False, id="draining"),
        pytest.param(served("v1.0.0", worker("v1.0.0", dna=A100)), "a1b2", True, id="its-prefix"),
        pytest.param(served("v1.0.0", worker("v1.0.0", dna=H100)), "a1b2", False, id="another-prefix"),
        pytest.param(
            served("v1.0.0", worker("v1.0.0", "h", dna=H100), worker("v1.0.0", "a", dna=A100)),
            "a1b2",
            True,
            id="one-of-two-has-it",
        ),
    ],
)
def test_whether_a_version_can_answer(view: VersionView, prefix: str | None, answers: bool) -> None:
    assert can_answer(view, prefix) is answers


@pytest.mark.parametrize(("status", "refused"), [("active", False), ("draining", False), ("retired", True)])
def test_only_retired_versions_are_refused_before_the_pick(status: str, refused: bool) -> None:
    assert isinstance(in_service(MODEL_VIEW, served("v2.4.0", status=status)), NotRouted) is refused


@pytest.mark.parametrize(("text", "kind", "answers"), [("v2.4.0", Exact, "v2.4.0"), ("^2", Range, "v2.5.0")])
def test_a_version_is_selected(text: str, kind: type, answers: str) -> None:
    selector = agreed(MODEL_VIEW, (text,))
    assert isinstance(selector, Exact | Range)

    view = select(MODEL_VIEW, selector, dna_prefix=None, requested=text)

    assert isinstance(selector, kind)
    assert isinstance(view, VersionView)
    assert str(view.version) == answers
