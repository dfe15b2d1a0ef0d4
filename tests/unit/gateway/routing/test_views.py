"""What is worked out ahead, so that requests need not."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import pytest

from contracts.selector import Exact, Range
from contracts.version import Version
from gateway.routing.views import assemble_model, assemble_version
from tests.support.fleets import MODEL, contract_document, fleet, route_document, served, worker


def test_ready_are_those_without_a_refusal_in_their_order() -> None:
    a, b, c = worker("v1.0.0", "a"), worker("v1.0.0", "b", refused="down: x"), worker("v1.0.0", "c")

    view = assemble_version(contract_document("v1.0.0"), [a, b, c])

    assert (view.instances, view.ready, view.tied) == ((a, b, c), (a, c), False)


def test_versions_are_ranked_by_precedence_whatever_their_order() -> None:
    versions = ["v1.10.0", "v1.9.0", "v1.10.0-rc.1", "v1.10.0-rc.10", "v1.10.0-rc.9", "v2.0.0", "v1.9.0+b"]
    ranked = ["v2.0.0", "v1.10.0", "v1.10.0-rc.10", "v1.10.0-rc.9", "v1.10.0-rc.1", "v1.9.0+b", "v1.9.0"]

    for order in (versions, versions[::-1]):
        model = assemble_model(MODEL, [served(version) for version in order], None)
        assert [str(view.version) for view in model.ranked] == ranked
        assert model.versions[Version(1, 9, 0)] is model.ranked[-1]


def test_the_views_cannot_be_changed() -> None:
    assert isinstance(assemble_model(MODEL, [served("v1.0.0")], None).versions, MappingProxyType)


def test_without_a_route_there_is_no_default_and_no_canary() -> None:
    model = assemble_model(MODEL, [served("v1.0.0")], None)

    assert (model.route, model.default, model.slices) == (None, None, ())


@pytest.mark.parametrize(
    ("default", "kind"), [("v1.0.0", Exact), ("^1", Range), ("stable", Exact), ("recent", Range), (None, type(None))]
)
def test_a_default_that_is_an_alias_is_looked_up_ahead(default: str | None, kind: type) -> None:
    fields: dict[str, Any] = {"aliases": {"stable": "v1.0.0", "recent": "^1"}} | (
        {"default": default} if default else {}
    )

    model = assemble_model(MODEL, [served("v1.0.0")], route_document(fields))

    assert isinstance(model.default, kind)


def test_every_rule_has_its_slice_with_or_without_a_contract() -> None:
    rules = [
        {"version": "v1.1.0", "traffic_percentage": 5, "dna_prefix": "a1b2"},
        {"version": "v9.9.9", "traffic_percentage": 0},
        {"version": "v1.2.0", "traffic_percentage": 0.1},
    ]

    model = fleet("v1.0.0", "v1.1.0", route={"default": "v1.0.0", "canary_rules": rules}).models[MODEL]

    assert [(str(owned.version), owned.dna_prefix) for owned in model.slices] == [
        ("v1.1.0", "a1b2"),
        ("v9.9.9", None),
        ("v1.2.0", None),
    ]
    assert [owned.high - owned.low for owned in model.slices] == pytest.approx([0.05, 0.0, 0.001])
