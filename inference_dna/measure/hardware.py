"""Writes the hardware section (dna.md section 1, provenance.md section 6)."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from pathlib import Path

from inference_dna.canonical import Json
from inference_dna.measure.cpu import Cpu, read_cpu
from inference_dna.measure.libraries import mapped_libraries
from inference_dna.measure.reading import reading_errors

CPUINFO = Path("/proc/cpuinfo")
MAPS = Path("/proc/self/maps")


def cpu_hardware(*, machine: str | None = None, cpuinfo: Path = CPUINFO, maps: Path = MAPS) -> dict[str, Json]:
    """Measure the hardware of a process that computes on the processor alone.

    Call it after the engine has loaded: only then are its libraries mapped.

    Args:
        machine: Architecture; None asks the operating system.
        cpuinfo: The kernel's description of the processor.
        maps: The files this process has mapped.

    Raises:
        Refused: A source is there and cannot be read.
    """
    cpu = read_cpu(machine or platform.machine(), _text(cpuinfo))
    mapped = _text(maps)
    return cpu_section(cpu, None if mapped is None else mapped_libraries(mapped))


def cpu_section(cpu: Cpu, libraries: Mapping[str, str] | None) -> dict[str, Json]:
    """Write the section of a process without accelerators: an empty list is a measured fact.

    Args:
        cpu: The processor.
        libraries: Operator libraries with their versions; None where the platform offers no way to read them.
    """
    return {
        "accelerators": [],
        "cuda": None,
        "cudnn": None,
        "driver_branch": None,
        "libraries": libraries,
        "cpu": cpu.document(),
        "evidence": {"memory_mib": [], "cpu": cpu.evidence()},
    }


def _text(path: Path) -> str | None:
    """The whole file; None on a platform that has none. One that is there and cannot be read is refused."""
    if not path.exists():
        return None
    with reading_errors(f"the file {str(path)!a}"):
        return path.read_text(encoding="utf-8", errors="replace")
