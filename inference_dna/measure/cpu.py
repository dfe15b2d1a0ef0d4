"""Measures the processor of a machine without accelerators (provenance.md section 6)."""

from __future__ import annotations

from dataclasses import dataclass

from inference_dna.canonical import Json

_LEVELS = {
    "x86_64": (
        ("AVX512", frozenset({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"})),
        ("AVX2", frozenset({"avx2", "fma"})),
        ("AVX", frozenset({"avx"})),
    ),
    "aarch64": (("SVE", frozenset({"sve"})), ("NEON", frozenset({"asimd"}))),
}
"""Level names as engines print them, with the kernel's flags each needs; the first that is met counts."""
_NO_LEVEL = "DEFAULT"
_SHAPES_KERNELS = {
    "x86_64": ("amx", "avx", "f16c", "fma", "sse4"),
    "aarch64": ("asimd", "bf16", "fphp", "i8mm", "sme", "sve"),
}
"""How the flags begin by which numeric libraries choose kernels: two machines of one level may still differ in them."""
_SAME_MACHINE = {"amd64": "x86_64", "arm64": "aarch64"}


@dataclass(frozen=True, slots=True)
class Cpu:
    """Architecture, instruction-set level, the flags that choose kernels, and the model's name.

    `isa`, `features` and `model` are None where the platform offers no way to read them.
    """

    arch: str
    isa: str | None
    features: tuple[str, ...] | None
    model: str | None

    def document(self) -> dict[str, Json]:
        """The member `cpu` of the hardware section."""
        features = None if self.features is None else list(self.features)
        return {"arch": self.arch, "isa": self.isa, "features": features}

    def evidence(self) -> dict[str, Json]:
        """What people want to know and no digest covers."""
        return {"arch": self.arch, "model": self.model}


def read_cpu(machine: str, cpuinfo: str | None, *, in_use: str | None = None) -> Cpu:
    """Describe the processor.

    Args:
        machine: What the operating system calls the architecture.
        cpuinfo: Text of `/proc/cpuinfo`, None on a platform without one.
        in_use: The level that the engine says it uses, which a setting may hold below what the processor offers.
    """
    arch = _SAME_MACHINE.get(machine.lower(), machine.lower())
    if cpuinfo is None:
        return Cpu(arch, in_use, None, None)
    available = _available(cpuinfo)
    features = tuple(sorted(flag for flag in available if flag.startswith(_SHAPES_KERNELS.get(arch, ()))))
    return Cpu(arch, in_use or _level(arch, available), features, _first(cpuinfo, "model name"))


def _level(arch: str, available: frozenset[str]) -> str:
    return next((level for level, needs in _LEVELS.get(arch, ()) if needs <= available), _NO_LEVEL)


def _available(cpuinfo: str) -> frozenset[str]:
    """Flags that every core has: a thread may run on any of them."""
    cores = [frozenset(value.split()) for key, value in _fields(cpuinfo) if key in ("flags", "Features")]
    return frozenset.intersection(*cores) if cores else frozenset()


def _first(cpuinfo: str, name: str) -> str | None:
    return next((value for key, value in _fields(cpuinfo) if key == name), None)


def _fields(cpuinfo: str) -> list[tuple[str, str]]:
    pairs = [line.partition(":") for line in cpuinfo.splitlines()]
    return [(key.strip(), value.strip()) for key, _, value in pairs]
