from __future__ import annotations

import msgspec
import pytest

from bench.goals import goals
from bench.results import Comparison


def test_each_goal_is_a_ratio_of_one_run(comparison: Comparison) -> None:
    measured = {goal.what: (round(goal.measured, 3), goal.met) for goal in goals(comparison)}

    assert measured == {
        "requests/s at 32 ÷ envoy": (1.5, True),
        "requests/s at 128 ÷ envoy": (1.5, True),
        "requests/s at 32 ÷ vllm-router": (2.0, True),
        "requests/s at 128 ÷ vllm-router": (2.0, True),
        "requests/s at 32 ÷ nginx": (0.5, True),
        "requests/s at 128 ÷ nginx": (0.5, True),
        "p50 at 1 connection − nginx's, ms": (0.03, True),
        "added p99 at half of our peak, ms, in the median tenth of a second": (0.7, True),
        "added p99 at half of our peak, ms, over the whole run": (1.4, False),
        "CPU per SSE event ÷ nginx's": (1.25, True),
        "memory after the last round ÷ after the first": (1.012, True),
    }


@pytest.mark.parametrize("absent", ["envoy", "nginx", "vllm-router"])
def test_a_goal_against_an_absent_peer_is_not_met(comparison: Comparison, absent: str) -> None:
    left = [figures for figures in comparison.figures if figures.name != absent]
    judged = goals(msgspec.structs.replace(comparison, figures=left))

    assert {goal.what for goal in judged if absent in goal.what} == {
        goal.what for goal in judged if not goal.met and goal.measured != goal.measured
    }


def test_without_ours_there_is_nothing_to_judge(comparison: Comparison) -> None:
    assert goals(msgspec.structs.replace(comparison, figures=comparison.figures[1:])) == []
