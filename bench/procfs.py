"""What the kernel knows of a process: its children, CPU time, memory; and how busy a core was.

Linux only, like the benchmark.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

_PROC = Path("/proc")
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
# Fields of a `cpuN` line: user nice system idle iowait irq softirq steal ...
_IDLE_FIELDS = (3, 4)


def family(pid: int) -> tuple[int, ...]:
    """The process and all its descendants that are alive now."""
    parents = dict(_parents())
    known = {pid}
    while True:
        more = {child for child, parent in parents.items() if parent in known} - known
        if not more:
            return tuple(sorted(known))
        known |= more


def cpu_s(pids: Iterable[int]) -> float:
    """CPU seconds, user and system, that these processes used so far, to the nanosecond."""
    return sum(time.clock_gettime(_cpu_clock(pid)) for pid in pids)


def split_cpu_s(pids: Iterable[int]) -> tuple[float, float]:
    """User and system seconds of these processes; the kernel splits the exact sum by its timer ticks."""
    user = system = 0
    for pid in pids:
        fields = stat_fields((_PROC / str(pid) / "stat").read_text())
        user, system = user + int(fields[11]), system + int(fields[12])
    return user * _TICK_S, system * _TICK_S


def main_thread_s(pid: int) -> float:
    """CPU seconds that the first thread of the process used so far."""
    return int((_PROC / str(pid) / "task" / str(pid) / "schedstat").read_text().split()[0]) / 1e9


def rss_bytes(pids: Iterable[int]) -> int:
    """Resident memory of these processes; a page that two of them share counts twice."""
    return sum(int((_PROC / str(pid) / "statm").read_text().split()[1]) for pid in pids) * _PAGE


def busy_s(core: int) -> float:
    """Seconds since boot in which the core did not idle."""
    return busy_ticks((_PROC / "stat").read_text(), core) * _TICK_S


def busy_ticks(text: str, core: int) -> int:
    """The same in ticks, from the text of `/proc/stat`; 0 for a core it does not list."""
    for line in text.splitlines():
        name, *fields = line.split()
        if name == f"cpu{core}":
            # Guest time is inside user time already.
            return sum(int(field) for index, field in enumerate(fields[:8]) if index not in _IDLE_FIELDS)
    return 0


def stat_fields(text: str) -> list[str]:
    """The fields of `/proc/PID/stat` after the command's name, which may hold blanks and brackets itself."""
    return text.rpartition(")")[2].split()


def _parents() -> Iterable[tuple[int, int]]:
    for entry in _PROC.iterdir():
        if entry.name.isdigit():
            with suppress(OSError):  # it may end between the listing and the reading
                yield int(entry.name), int(stat_fields((entry / "stat").read_text())[1])


def _cpu_clock(pid: int) -> int:
    """The clock of another process's CPU time, as clock_getcpuclockid(3) makes it."""
    return (~pid << 3) | 2
