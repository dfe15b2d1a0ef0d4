"""Waits for a quiet moment before a measurement, as long as the patience of the whole run lasts."""

from __future__ import annotations

import time
from collections.abc import Sequence

from bench import procfs

_LOOK_S = 0.1
QUIET = 0.15
"""Busy share of the cores, in cores, that counts as quiet."""


ONE_WAIT_S = 10.0


class Calm:
    """A stock of patience, in seconds, of which one wait takes `ONE_WAIT_S` at most; spent, `wait` returns at once."""

    def __init__(self, cores: Sequence[int], patience_s: float) -> None:
        self._cores, self._left_s = cores, patience_s

    def wait(self) -> None:
        """Wait until nobody else computes here."""
        may_take_s = min(self._left_s, ONE_WAIT_S)
        waited_s = 0.0
        while waited_s < may_take_s and self._busy() > QUIET:
            waited_s += _LOOK_S
        self._left_s -= waited_s

    def _busy(self) -> float:
        before, start = self._busy_s(), time.monotonic()
        time.sleep(_LOOK_S)
        return (self._busy_s() - before) / (time.monotonic() - start)

    def _busy_s(self) -> float:
        return sum(procfs.busy_s(core) for core in self._cores)
