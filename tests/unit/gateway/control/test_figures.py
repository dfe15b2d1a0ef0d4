from __future__ import annotations

from typing import Any

import pytest

from gateway.control.figures import figures, wanted_shares
from gateway.control.watcher import SourceState
from tests.support.control import Story, contract, route, stated

A, B, C = (f"http://10.0.0.{n}:8000" for n in (1, 2, 3))


def rules(*percentages: tuple[str, float]) -> list[dict[str, Any]]:
    return [{"version": version, "traffic_percentage": share} for version, share in percentages]


def test_instances_are_counted_by_identity_and_liveness_with_every_state_present() -> None:
    story = Story()
    story.apply(contract("v1.0.0", A, B, C), contract("v2.0.0", A, enforcement="observe"))
    story.probe(A)
    story.probe(B, stated("b"))
    shown = figures(story.fleet.current(), story.fleet.documents, story.fleet.tracked, SourceState("files", "x"))
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

    assert not figures(
        story.fleet.current(), story.fleet.documents, story.fleet.tracked, SourceState("files", "x")
    ).versions


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
