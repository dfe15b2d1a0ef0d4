"""What this machine is, as far as it bears on the figures. No host name."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import msgspec

from bench.cores import CoreSplit


class Machine(msgspec.Struct, frozen=True):
    """One machine at the moment of a run; memory in GiB, `load` is the load average of the minute before."""

    processor: str
    cores: int
    memory_gib: float
    kernel: str
    python: str
    load: float
    split: str


def describe(split: CoreSplit) -> Machine:
    """Look at the machine this runs on."""
    return Machine(
        processor=_processor(Path("/proc/cpuinfo").read_text()),
        cores=os.cpu_count() or 1,
        memory_gib=round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30, 1),
        kernel=platform.release(),
        python=platform.python_version(),
        load=round(os.getloadavg()[0], 2),
        split=(
            f"proxy on core {_names(split.proxy)}, upstream on core {_names(split.upstream)}, "
            f"load on core {_names(split.load)}"
        ),
    )


def _processor(text: str) -> str:
    for line in text.splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _names(cores: tuple[int, ...]) -> str:
    return "+".join(map(str, cores))
