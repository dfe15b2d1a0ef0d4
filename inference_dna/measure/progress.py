"""A progress bar for long hashing: on a terminal only, on one line, gone when the work is done."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from inference_dna.measure.work import Done, Watch

LONG_BYTES = 256 * 1024 * 1024
"""What takes less than about a second is not worth a bar."""

_BAR_CELLS = 16
_CLEAR = "\r\x1b[K"
_GB = 1e9


@contextmanager
def progress_bar(out: TextIO, clock: Callable[[], float]) -> Iterator[Watch | None]:
    """Give a watcher that draws, None where nobody would see it; the line is wiped at the end, however that comes.

    Args:
        out: Where to draw: standard error, so that standard output holds results only.
        clock: Any clock in seconds that does not go back.
    """
    if not out.isatty():
        yield None
        return
    try:
        yield _Bar(out, clock).draw
    finally:
        out.write(_CLEAR)
        out.flush()


def bar_line(done: Done, *, elapsed_s: float, columns: int) -> str:
    """Write the line for one moment.

    Args:
        done: How far the work is.
        elapsed_s: Seconds since it began.
        columns: Width of the terminal; a longer line is cut.
    """
    share = done.done / max(done.total, 1)
    filled = int(share * _BAR_CELLS)
    bar = "#" * filled + "." * (_BAR_CELLS - filled)
    line = f"hashing {done.what} [{bar}] {share:4.0%} {done.done / _GB:.1f} of {done.total / _GB:.1f} GB"
    if elapsed_s > 0 and done.done:
        speed = done.done / elapsed_s
        line += f", {speed / _GB:.2f} GB/s, {_time((done.total - done.done) / speed)} left"
    return line[: columns - 1]


class _Bar:
    """Draws; starts anew where another kind of work begins."""

    def __init__(self, out: TextIO, clock: Callable[[], float]) -> None:
        self._out, self._clock = out, clock
        self._what, self._began_s = "", 0.0

    def draw(self, done: Done) -> None:
        if done.total < LONG_BYTES:
            return
        now = self._clock()
        if done.what != self._what:
            self._what, self._began_s = done.what, now
        columns = shutil.get_terminal_size().columns
        self._out.write(_CLEAR + bar_line(done, elapsed_s=now - self._began_s, columns=columns))
        self._out.flush()


def _time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
