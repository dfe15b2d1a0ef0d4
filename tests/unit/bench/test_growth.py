from __future__ import annotations

import pytest

from bench.growth import ASKED, fleet_documents, fleet_models, probe_interval_s

URL = "http://127.0.0.1:9001"


@pytest.mark.parametrize("axis", ["contracts", "instances"])
@pytest.mark.parametrize("size", [1, 10, 1_000])
def test_a_fleet_has_its_size_and_every_model_that_is_asked_for(axis: str, size: int) -> None:
    documents = dict(fleet_documents(axis, size, URL))
    asked = fleet_models(axis, size)

    assert sum(map(len, documents.values())) == size
    assert len(documents) == (size if axis == "contracts" else 1)
    assert set(asked) <= set(documents)
    assert len(asked) == len(set(asked)) <= ASKED


def test_instances_differ_by_base_path_only() -> None:
    assert fleet_documents("instances", 2, URL) == [("bench-0", [f"{URL}/w/0/i/0", f"{URL}/w/0/i/1"])]
    assert fleet_documents("contracts", 1, URL) == [("bench-0", [f"{URL}/w/0"])]


def test_probing_costs_the_same_at_every_size() -> None:
    assert [probe_interval_s(size) for size in (1, 100, 10_000)] == [5.0, 5.0, 500.0]
