"""Reads the accelerators that PyTorch uses, and sees each of them compute (provenance.md section 6).

A broken node may list a device that answers nothing: it counts only after one small kernel ran on it.
"""

from __future__ import annotations

from typing import Any

from inference_dna.canonical import Refused
from inference_dna.measure.devices.accelerators import Device, Seen, named

_MIB = 1024 * 1024


def read_torch_devices(torch: Any) -> Seen:
    """List the devices this process sees; none is a measured fact.

    Args:
        torch: The module, built for CUDA, ROCm or the processor alone.

    Raises:
        Refused: A device is listed and cannot compute.
    """
    if not torch.cuda.is_available():
        return Seen(())
    return Seen(tuple(_device(torch, index) for index in range(torch.cuda.device_count())))


def cuda_version(torch: Any) -> str | None:
    """What PyTorch was built for; None for ROCm and for the processor alone."""
    version: str | None = torch.version.cuda
    return version


def cudnn_version(torch: Any) -> str | None:
    """The library in use, as NVIDIA writes its version: 8902 is 8.9.2, 90100 is 9.1.0."""
    number = torch.backends.cudnn.version() if torch.version.cuda else None
    if number is None:
        return None
    major = 10_000 if number >= 90_000 else 1_000
    return f"{number // major}.{number % major // 100}.{number % 100}"


def nccl_version(torch: Any) -> str | None:
    """The library in use; None in builds without it."""
    try:
        return ".".join(map(str, torch.cuda.nccl.version()))
    except (AttributeError, RuntimeError):
        return None


def _device(torch: Any, index: int) -> Device:
    try:
        _compute(torch, index)
        facts = torch.cuda.get_device_properties(index)
    except Exception as error:
        raise Refused(f"The device {index} is listed and cannot compute: {error}.") from error
    uuid = getattr(facts, "uuid", None)
    # On ROCm major and minor stand for something else, and the architecture has a name.
    architecture = getattr(facts, "gcnArchName", None)
    return named(
        facts.name,
        compute_capability=f"{facts.major}.{facts.minor}"
        if architecture is None or torch.version.cuda
        else architecture,
        sm_count=facts.multi_processor_count,
        uuid=None if uuid is None else str(uuid),
        memory_mib=facts.total_memory // _MIB,
    )


def _compute(torch: Any, index: int) -> None:
    result = torch.ones(4, device=f"cuda:{index}") * 2
    torch.cuda.synchronize(index)
    if result.sum().item() != 8:
        raise RuntimeError("a small sum came out wrong")
