from __future__ import annotations

import io

import pytest

from inference_dna.measure.progress import LONG_BYTES, bar_line, progress_bar
from inference_dna.measure.work import Done

GB = 10**9


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_line_says_how_far_how_fast_and_how_long_still() -> None:
    line = bar_line(Done(1 * GB, 4 * GB), elapsed_s=2.0, columns=120)

    assert line == "hashing files [####............]  25% 1.0 of 4.0 GB, 0.50 GB/s, 6 s left"


@pytest.mark.parametrize(("left_s", "says"), [(59, "59 s left"), (60, "1 min 0 s left"), (754, "12 min 34 s left")])
def test_the_time_left(left_s: int, says: str) -> None:
    assert bar_line(Done(GB, (1 + left_s) * GB), elapsed_s=1.0, columns=200).endswith(says)


def test_the_first_moment_knows_no_speed() -> None:
    assert bar_line(Done(0, GB), elapsed_s=0.0, columns=120).endswith("0.0 of 1.0 GB")


def test_a_line_is_never_wider_than_the_terminal() -> None:
    assert len(bar_line(Done(1, GB), elapsed_s=1.0, columns=40)) == 39


def test_nobody_watches_where_there_is_no_terminal() -> None:
    out = io.StringIO()
    with progress_bar(out, lambda: 0.0) as watch:
        assert watch is None
    assert out.getvalue() == ""


def test_a_bar_is_drawn_on_one_line_and_wiped() -> None:
    out, now = Terminal(), iter([10.0, 12.0])
    with progress_bar(out, lambda: next(now)) as watch:
        assert watch is not None
        watch(Done(0, 4 * GB))
        watch(Done(2 * GB, 4 * GB))

    assert "\n" not in out.getvalue()
    assert "50% 2.0 of 4.0 GB, 1.00 GB/s, 2 s left" in out.getvalue()
    assert out.getvalue().endswith("\r\x1b[K")


def test_it_is_wiped_when_the_work_fails() -> None:
    out = Terminal()
    with pytest.raises(KeyError), progress_bar(out, lambda: 0.0):
        raise KeyError

    assert out.getvalue().endswith("\r\x1b[K")


def test_each_kind_of_work_has_its_own_time() -> None:
    out, now = Terminal(), iter([0.0, 8.0, 9.0])
    with progress_bar(out, lambda: next(now)) as watch:
        assert watch is not None
        watch(Done(4 * GB, 4 * GB, "files"))
        watch(Done(0, 4 * GB, "tensors"))
        watch(Done(1 * GB, 4 * GB, "tensors"))

    assert "hashing tensors" in out.getvalue()
    assert "1.00 GB/s, 3 s left" in out.getvalue()


def test_short_work_draws_nothing() -> None:
    out = Terminal()
    with progress_bar(out, lambda: 0.0) as watch:
        assert watch is not None
        watch(Done(1, LONG_BYTES - 1))

    assert out.getvalue() == "\r\x1b[K"
