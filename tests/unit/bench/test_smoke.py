from __future__ import annotations

import msgspec
import pytest

from bench.results import Comparison, Figures
from bench.smoke import faults


def with_ours(comparison: Comparison, **changes: object) -> Comparison:
    ours: Figures = msgspec.structs.replace(comparison.figures[0], **changes)
    return msgspec.structs.replace(comparison, figures=[ours, *comparison.figures[1:]])


def test_slow_is_not_broken(comparison: Comparison) -> None:
    slow = [
        msgspec.structs.replace(each, requests_per_s=1.0, p99_ms=9_000.0) for each in comparison.figures[0].closed["1"]
    ]

    assert faults(with_ours(comparison, closed={"1": slow})) == []


@pytest.mark.parametrize(
    ("part", "field", "value", "said"),
    [
        ("closed", "failures", 2, "6 requests failed in the closed loop at 1 connections"),
        ("closed", "requests_per_s", 0.0, "nothing was answered in the closed loop at 1 connections"),
        ("open", "failures", 3, "3 requests failed in the open loop"),
        ("streams", "lost", 1, "1 streams broke or brought nothing"),
        ("streams", "events", 0, "no event came through"),
    ],
)
def test_what_is_broken_is_said(comparison: Comparison, part: str, field: str, value: float, said: str) -> None:
    ours = comparison.figures[0]
    repeats = ours.closed["1"] if part == "closed" else getattr(ours, part)
    changed = [msgspec.structs.replace(repeat, **{field: value}) for repeat in repeats]

    assert faults(with_ours(comparison, **{part: {"1": changed} if part == "closed" else changed})) == [said]


@pytest.mark.parametrize("part", ["closed", "open", "streams"])
def test_a_part_that_was_not_measured_is_a_fault(comparison: Comparison, part: str) -> None:
    assert len(faults(with_ours(comparison, **{part: {} if part == "closed" else []}))) == 1


def test_missing_records_and_a_gateway_that_did_not_start_are_faults(comparison: Comparison) -> None:
    lost = msgspec.structs.replace(comparison, records_per_request=0.5)
    gone = msgspec.structs.replace(comparison, figures=comparison.figures[1:], skipped={"dna-gateway": "port in use"})

    assert faults(lost) == ["access records per request: 0.5"]
    assert faults(gone) == ["dna-gateway did not start: port in use"]
