from __future__ import annotations

from typing import Any

import pytest

from gateway.control.figures import figures, wanted_shares
from gateway.control.watcher import SourceState
from gateway.sources.listing import CheckState, take
from gateway.telemetry.gauges import FleetFigures
from tests.support.control import Story, contract, route, stated
from tests.support.registrations import SERVICE, listing, registration

A, B, C = (f"http://10.0.0.{n}:8000" for n in (1, 2, 3))


def shown_of(story: Story) -> FleetFigures:
    fleet = story.fleet
    return figures(fleet.current(), fleet.documents, fleet.choice, fleet.tracked, SourceState("files", "x"))


def rules(*percentages: tuple[str, float]) -> list[dict[str, Any]]:
    return [{"version": version, "traffic_percentage": share} for version, share in percentages]


def test_instances_are_counted_by_identity_and_liveness_with_every_state_present() -> None:
    story = Story()
    story.apply(contract("v1.0.0", A, B, C), contract("v2.0.0", A, enforcement="observe"))
    story.probe(A)
    story.probe(B, stated("b"))
    shown = shown_of(story)
    by_version = {one.version: one for one in shown.versions}
    one = by_version["v1.0.0"]

    assert len(one.instances) == 8
    assert one.instances["verified", "up"] == 1
    assert one.instances["ejected", "up"] == 1
    assert one.instances["unverified", "down"] == 1
    assert sum(one.instances.values()) == 3
    assert not one.observe
    assert by_version["v2.0.0"].observe
    assert shown.documents["contract", "ok"] == 2
    assert shown.documents["route", "missing"] == 0
    assert (shown.generation, shown.source, len(shown.config_hash)) == (1, "files", 12)


def test_a_retired_version_has_no_gauges() -> None:
    story = Story()
    story.apply(contract("v1.0.0", A, status="retired"))

    assert not shown_of(story).versions


def test_registrations_are_counted_by_state_and_by_what_is_odd() -> None:
    story = Story()
    story.apply(contract(service=SERVICE))
    known = listing(
        registration("a"),
        registration("b", "10.0.0.2:8000", maintenance="disk", check=CheckState.CRITICAL),
        registration("c", "10.0.0.3:8000", "v9.0.0", check=CheckState.WARNING),
    )
    story.show({SERVICE: take(known, [], went_back=False, now=200)})
    (shown,) = shown_of(story).services

    assert (shown.service, shown.trusted) == (SERVICE, False)
    assert shown.registrations == {"passing": 0, "warning": 0, "critical": 0, "maintenance": 0, "kept": 3}
    assert shown.odd == {"unreadable": 0, "no_contract": 1, "duplicate": 0, "shared_address": 0, "flapping": 0}
    story.show({SERVICE: known})
    (shown,) = shown_of(story).services
    assert shown.trusted
    assert shown.registrations == {"passing": 1, "warning": 1, "critical": 0, "maintenance": 1, "kept": 0}


@pytest.mark.parametrize(
    ("fields", "shares"),
    [
        pytest.param(None, {"v1.0.0": None, "v2.0.0": None}, id="two-versions-and-no-route"),
        pytest.param({"default": "v1.0.0"}, {"v1.0.0": 1.0, "v2.0.0": 0.0}, id="a-default"),
        pytest.param(
            {"default": "v1.0.0", "canary_rules": rules(("v2.0.0", 5))}, {"v1.0.0": 0.95, "v2.0.0": 0.05}, id="a-canary"
        ),
        pytest.param(
            {"default": "^1", "aliases": {"stable": "v1.0.0"}, "canary_rules": rules(("v2.0.0", 100))},
            {"v1.0.0": 0.0, "v2.0.0": 1.0},
            id="all-of-it",
        ),
    ],
)
def test_the_wanted_share_of_each_version(fields: dict[str, Any] | None, shares: dict[str, float | None]) -> None:
    story = Story()
    texts = [contract("v1.0.0", A), contract("v2.0.0", B)]
    story.apply(*texts, *([route(**fields)] if fields else []))
    for url, version in ((A, "v1.0.0"), (B, "v2.0.0")):
        story.probe(url, version=version)
    model = story.fleet.current().models["m"]
    found = {str(version): share for version, share in wanted_shares(model).items()}

    for version, share in shares.items():
        assert found.get(version, 0.0 if found else None) == pytest.approx(share)
