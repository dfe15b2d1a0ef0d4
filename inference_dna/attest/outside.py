"""The stack that an engine runs on, read from outside: framework and hardware (provenance.md sections 5 to 7)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from inference_dna.attest.engine import Engine, Told
from inference_dna.attest.interpreter import Interpreter
from inference_dna.attest.process import Process, environment, mapped_files, program, seen_by
from inference_dna.canonical import Json, Refused
from inference_dna.digest import ALGORITHM
from inference_dna.measure.devices.accelerators import Seen, visible
from inference_dna.measure.devices.nvidia_smi import Run, read_nvidia_smi
from inference_dna.measure.devices.nvml import read_nvml
from inference_dna.measure.environment import RULE, shaping_environment
from inference_dna.measure.framework import commits, read_packages, records_digest
from inference_dna.measure.hardware import Versions, accelerator_hardware, cpu_hardware
from inference_dna.measure.libraries import installed_version, mapped_libraries
from inference_dna.measure.packages import TRANSFORMERS_PACKAGES
from inference_dna.measure.reading import reading_errors

PACKAGES = (
    *TRANSFORMERS_PACKAGES, "lmcache", "llguidance", "llama-cpp-python", "nixl", "outlines", "outlines-core", "ray",
    "sgl-kernel", "sglang", "text-generation-server", "vllm", "xgrammar",
)  # fmt: skip
_DRIVER = "/libcuda.so"
_OWN_LIBRARIES = ("libllama", "libggml", "libtriton", "libmtmd")


@dataclass(frozen=True, slots=True)
class Outside:
    """What the kernel tells of an engine: its mappings, its interpreter, the options of its command line."""

    process: Process
    maps: str
    interpreter: Interpreter
    flags: Mapping[str, Json]

    def where(self, path: str) -> Path:
        """Where a path of the engine lies for us."""
        return seen_by(self.process, path)


def framework_outside(engine: Engine, told: Told, outside: Outside) -> dict[str, Json]:
    """Write the framework section.

    Raises:
        Refused: The engine's package is not where it runs, or a source cannot be read.
    """
    find = outside.interpreter.find
    packages = read_packages(PACKAGES, find)
    versions = {package.name: package.version for package in packages}
    version = told.version or versions.get(engine.package or "")
    if version is None:
        raise Refused(f"The package {engine.package!a} is not installed where the engine runs.")
    commit = commits(versions, find)
    return {
        "engine": {"name": engine.name, "version": version, "commit": commit.get(engine.package or "")},
        "python": outside.interpreter.python,
        "packages": dict(versions),
        "records": ALGORITHM + records_digest(packages),
        "programs": _programs(engine, outside),
        "flags": {**outside.flags, **({"told": dict(told.flags)} if told.flags else {})},
        "env_rule": RULE,
        "env": shaping_environment(environment(outside.process)),
        "parallel": None,
        "deterministic": None,
        "evidence": {"pid": outside.process.pid, "commits": commit, **told.evidence},
    }


def _programs(engine: Engine, outside: Outside) -> dict[str, Json]:
    """Digests of the engine's own program files where it is no Python package, whose records tell."""
    if engine.package is not None:
        return {}
    own = program(outside.process)
    libraries = [path for path in mapped_files(outside.maps) if os.path.basename(path).startswith(_OWN_LIBRARIES)]
    return {Path(path).name: ALGORITHM + _content(outside, path) for path in sorted({str(own), *libraries})}


def _content(outside: Outside, path: str) -> str:
    with reading_errors(f"the file {path!a}"):
        return sha256(outside.where(path).read_bytes()).hexdigest()


def hardware_outside(outside: Outside, *, nvml: Any, nvidia_smi: Run | None) -> dict[str, Json]:
    """Write the hardware section: what the driver knows of the devices, and which libraries the engine has mapped.

    Call it after the engine computed once.

    Args:
        outside: The engine.
        nvml: The module `pynvml`, None where there is none.
        nvidia_smi: The command, None where there is none.

    Raises:
        Refused: The engine uses a driver that nobody here can ask, or a source cannot be read.
    """
    # Engines compute in children of their own: what those have mapped is told beside what the process itself has.
    libraries = mapped_libraries(outside.maps, lambda path: installed_version(str(outside.where(path))))
    maps = outside.process.folder / "maps"
    if _DRIVER not in outside.maps:
        return cpu_hardware(maps=maps, libraries=libraries)
    seen = _devices(nvml, nvidia_smi)
    if seen is None:
        raise Refused("The engine uses the NVIDIA driver, and here neither its library nor nvidia-smi sees a device.")
    used = visible(seen, environment(outside.process))
    if not used.devices:
        return cpu_hardware(maps=maps, libraries=libraries)
    cuda = libraries.get("cudart", "").split(".")
    versions = Versions(cuda=".".join(cuda[:2]) if len(cuda) > 1 else None, libraries=libraries)
    return accelerator_hardware(used, versions, maps=maps)


def _devices(nvml: Any, nvidia_smi: Run | None) -> Seen | None:
    seen = None if nvml is None else read_nvml(nvml)
    if seen is None and nvidia_smi is not None:
        return read_nvidia_smi(nvidia_smi)
    return seen
