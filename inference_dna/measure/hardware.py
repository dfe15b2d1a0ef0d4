"""Writes the hardware section (dna.md section 1, provenance.md section 6)."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from inference_dna.canonical import Json, Refused
from inference_dna.measure.cpu import Cpu, read_cpu
from inference_dna.measure.devices.accelerators import Seen, accelerators, devices_evidence, driver_branch
from inference_dna.measure.libraries import installed_version, mapped_libraries
from inference_dna.measure.reading import reading_errors

CPUINFO = Path("/proc/cpuinfo")
MAPS = Path("/proc/self/maps")


@dataclass(frozen=True, slots=True)
class Versions:
    """What an engine says of its libraries: CUDA and cuDNN, and further ones by name; None where it has none."""

    cuda: str | None = None
    cudnn: str | None = None
    libraries: Mapping[str, str] | None = None


def cpu_hardware(
    *,
    machine: str | None = None,
    cpuinfo: Path = CPUINFO,
    maps: Path = MAPS,
    isa: str | None = None,
    libraries: Mapping[str, str] | None = None,
) -> dict[str, Json]:
    """Measure the hardware of a process that computes on the processor alone.

    Call it after the engine has loaded: only then are its libraries mapped.

    Args:
        machine: Architecture; None asks the operating system.
        cpuinfo: The kernel's description of the processor.
        maps: The files this process has mapped.
        isa: The instruction set that the engine says it uses; None takes what the processor offers.
        libraries: Versions of libraries that are compiled into the engine, which no mapped file shows.

    Raises:
        Refused: A source is there and cannot be read.
    """
    cpu = read_cpu(machine or platform.machine(), _text(cpuinfo), in_use=isa)
    return cpu_section(cpu, _libraries(_text(maps), libraries))


def accelerator_hardware(seen: Seen, versions: Versions, *, maps: Path = MAPS) -> dict[str, Json]:
    """Write the section of a process that computes on accelerators.

    Call it after the engine has loaded and computed once: only then are its libraries mapped.

    Args:
        seen: The devices that the process uses, with the driver's version.
        versions: What the engine says of its libraries.
        maps: The files this process has mapped.

    Raises:
        Refused: There is no device, or a source is there and cannot be read.
    """
    if not seen.devices:
        raise Refused("There is no accelerator to describe; describe the processor instead.")
    libraries = _libraries(_text(maps), versions.libraries)
    cuda, cudnn = (libraries or {}).get("cudart"), (libraries or {}).get("cudnn")
    return {
        "accelerators": accelerators(seen.devices),
        # The mapped library runs; what the engine was built for is another fact, and the only one without a mapping.
        "cuda": _two_numbers(cuda) or versions.cuda,
        "cudnn": versions.cudnn or cudnn,
        "driver_branch": driver_branch(seen.driver),
        "libraries": libraries,
        "cpu": None,
        "evidence": {**devices_evidence(seen), "built_for": {"cuda": versions.cuda}},
    }


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


def _libraries(maps: str | None, told: Mapping[str, str] | None) -> Mapping[str, str] | None:
    """What is mapped and what the engine tells; where both name a library, the mapped file is the one that runs."""
    if maps is None:
        return told
    return dict(sorted({**(told or {}), **mapped_libraries(maps, installed_version)}.items()))


def _two_numbers(version: str | None) -> str | None:
    """`12.1` of `12.1.105`; None where the file name tells the first number only."""
    numbers = (version or "").split(".")
    return ".".join(numbers[:2]) if len(numbers) > 1 and " and " not in numbers[1] else None


def _text(path: Path) -> str | None:
    """The whole file; None on a platform that has none. One that is there and cannot be read is refused."""
    if not path.exists():
        return None
    with reading_errors(f"the file {str(path)!a}"):
        return path.read_text(encoding="utf-8", errors="replace")
