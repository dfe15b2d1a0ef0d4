from __future__ import annotations

import pytest

from bench.growth.fleet import ASKED, Fleet, fleets

URL = "http://127.0.0.1:9001"


@pytest.mark.parametrize("axis", ["contracts", "instances"])
@pytest.mark.parametrize("size", [1, 10, 1_000])
def test_a_fleet_has_its_size_and_every_model_that_is_asked_for(axis: str, size: int) -> None:
    fleet = Fleet(axis, size)
    documents = dict(fleet.documents(URL))

    assert sum(map(len, documents.values())) == size
    assert len(documents) == (size if axis == "contracts" else 1)
    assert set(fleet.models) <= set(documents)
    assert len(fleet.models) == len(set(fleet.models)) <= ASKED


def test_instances_differ_by_base_path_only() -> None:
    assert Fleet("instances", 2).documents(URL) == [("bench-0", [f"{URL}/w/0/i/0", f"{URL}/w/0/i/1"])]
    assert Fleet("contracts", 1).documents(URL) == [("bench-0", [f"{URL}/w/0"])]


def test_every_fleet_is_probed_once_in_five_seconds_whatever_its_size() -> None:
    ours = [fleet for fleet in fleets([1, 100, 10_000]) if fleet.is_ours]

    assert {fleet.size / fleet.probe_interval_s for fleet in ours} == {1 / 5}


def test_each_axis_begins_with_its_smallest_fleet_and_has_every_size_once() -> None:
    assert [fleet.name for fleet in fleets([1_000, 1, 1_000])] == [
        "1 contract", "1,000 contracts", "1 instance", "1,000 instances", "1 haproxy server", "1,000 haproxy servers",
    ]  # fmt: skip


def test_the_reference_ends_where_its_ports_do() -> None:
    assert [fleet.size for fleet in fleets([10, 10_000]) if not fleet.is_ours] == [10]
