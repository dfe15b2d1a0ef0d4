"""What a proxy spent between two moments, and how much of the benchmark's cores went to somebody else."""

from __future__ import annotations

import resource
import time
from collections.abc import Sequence
from dataclasses import dataclass

from bench import procfs

DISTURBED = 0.1
"""Above this foreign share (of one core) a run says little about a proxy."""


@dataclass(frozen=True, slots=True)
class Spent:
    """Seconds: of the wall, of CPU by the proxy, of CPU by the rest of the benchmark, of its cores by anybody."""

    wall_s: float
    cpu_s: float
    rest_cpu_s: float
    cores_busy_s: float

    @property
    def busy(self) -> float:
        """Share of one core that the proxy used."""
        return self.cpu_s / self.wall_s if self.wall_s > 0 else 0.0

    @property
    def foreign(self) -> float:
        """Share of one core that went to processes that are none of the benchmark's."""
        ours = self.cpu_s + self.rest_cpu_s
        return max(self.cores_busy_s - ours, 0.0) / self.wall_s if self.wall_s > 0 else 0.0


class Window:
    """`window = Window(...)` opens it, `window.spent()` looks at it.

    Args:
        proxy: Processes of the proxy that is measured.
        rest: Other processes of the benchmark that work meanwhile; its load generators are counted when they ended.
        cores: The cores that all of them are pinned to.
    """

    def __init__(self, proxy: Sequence[int], rest: Sequence[int], cores: Sequence[int]) -> None:
        self._proxy, self._rest, self._cores = proxy, rest, sorted(set(cores))
        self._before = self._read()

    def spent(self) -> Spent:
        """What was spent since the window opened."""
        wall, proxy, rest, busy = (now - then for now, then in zip(self._read(), self._before, strict=True))
        return Spent(wall, proxy, rest, busy)

    def _read(self) -> tuple[float, float, float, float]:
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        itself = resource.getrusage(resource.RUSAGE_SELF)
        rest = procfs.cpu_s(self._rest) + sum(usage.ru_utime + usage.ru_stime for usage in (ended, itself))
        busy = sum(procfs.busy_s(core) for core in self._cores)
        return time.monotonic(), procfs.cpu_s(self._proxy), rest, busy
