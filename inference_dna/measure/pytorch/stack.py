"""Measures the stack below a model that PyTorch computes: framework and hardware sections (dna.md section 1)."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from inference_dna.canonical import Json, Refused
from inference_dna.measure.devices.accelerators import Seen, joined
from inference_dna.measure.devices.nvidia_smi import Run, find_nvidia_smi, read_nvidia_smi
from inference_dna.measure.devices.nvml import find_nvml, read_nvml
from inference_dna.measure.framework import commits, framework_section, read_packages
from inference_dna.measure.hardware import CPUINFO, MAPS, Versions, accelerator_hardware, cpu_hardware
from inference_dna.measure.pytorch import build, devices, state

CPU, CUDA = "cpu", "cuda"


@dataclass(frozen=True, slots=True)
class Machine:
    """Where facts of the machine are read. `nvml` and `nvidia_smi` are None where there is none; see their modules."""

    nvml: Any = field(default_factory=find_nvml)
    nvidia_smi: Run | None = field(default_factory=find_nvidia_smi)
    cpuinfo: Path = CPUINFO
    maps: Path = MAPS
    arch: str = field(default_factory=platform.machine)


def torch_framework(
    torch: Any,
    *,
    engine: str,
    packages: Iterable[str],
    flags: Mapping[str, Json],
    layout: Mapping[str, Json],
    environ: Mapping[str, str],
) -> dict[str, Json]:
    """Write the framework section: packages, and how PyTorch is set to compute in this process.

    Args:
        torch: The module.
        engine: The package that serves.
        packages: Names of the packages that take part where they are installed.
        flags: What else shapes computation, as the engine resolved it.
        layout: How the model is split.
        environ: This process's environment.

    Raises:
        Refused: A package has no record, or the library cannot say how it computes.
    """
    read = read_packages(packages)
    told = commits(package.name for package in read)
    version = next((package.version for package in read if package.name == engine), None)
    return framework_section(
        read,
        engine={"name": engine, "version": version, "commit": told.get(engine)},
        environ=environ,
        flags={**flags, **state.flags(torch, environ)},
        parallel={**layout, **state.threads(torch)},
        deterministic=state.deterministic(torch, sys.modules),
        evidence={"commits": {**told, "torch": build.commit(torch)}},
    )


def torch_hardware(torch: Any, kind: str, machine: Machine) -> dict[str, Json]:
    """Write the hardware section of the device that a model is on.

    Args:
        torch: The module.
        kind: `cpu` or `cuda`, as the library calls the device's type.
        machine: Sources of the facts that the library does not know.

    Raises:
        Refused: The device is of a kind that this library cannot describe, or a fact of it could not be read.
    """
    libraries = build.built_libraries(torch)
    if kind == CPU:
        return cpu_hardware(
            machine=machine.arch,
            cpuinfo=machine.cpuinfo,
            maps=machine.maps,
            isa=build.instruction_set(torch),
            libraries=libraries,
        )
    if kind != CUDA:
        raise Refused(f"The model computes on a device of the kind {kind!a}, which cannot be described.")
    nccl = devices.nccl_version(torch)
    versions = Versions(
        cuda=devices.cuda_version(torch),
        cudnn=devices.cudnn_version(torch),
        libraries={**libraries, **({} if nccl is None else {"nccl": nccl})},
    )
    seen = joined(devices.read_torch_devices(torch), _driver(machine))
    return accelerator_hardware(seen, versions, maps=machine.maps)


def _driver(machine: Machine) -> Seen | None:
    """What the first of the driver's two readers that is there sees."""
    seen = None if machine.nvml is None else read_nvml(machine.nvml)
    if seen is None and machine.nvidia_smi is not None:
        return read_nvidia_smi(machine.nvidia_smi)
    return seen
