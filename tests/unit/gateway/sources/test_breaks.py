from __future__ import annotations

import pytest

from gateway.sources.breaks import SHARE, WORK_S, Breaks


def test_breaks_are_as_long_as_the_work_before_them_asks_for() -> None:
    spent, pauses = [10.0], list[float]()
    take_break = Breaks(pauses.append, spent=lambda: spent[0])

    for worked in (0.4 * WORK_S, 0.4 * WORK_S, 0.4 * WORK_S, 10 * WORK_S, 0.9 * WORK_S, 0.2 * WORK_S):
        spent[0] += worked
        take_break()

    works = (1.2 * WORK_S, 10 * WORK_S, 1.1 * WORK_S)
    assert pauses == pytest.approx([work / SHARE - work for work in works])


def test_what_a_break_itself_costs_is_no_work() -> None:
    spent = [0.0]

    def pause(seconds: float) -> None:
        assert seconds < 20 * 2 * WORK_S
        spent[0] += 100 * WORK_S

    take_break = Breaks(pause, spent=lambda: spent[0])
    for _ in range(3):
        spent[0] += WORK_S
        take_break()
