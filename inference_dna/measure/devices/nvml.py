"""Reads NVIDIA devices through the driver's own library, by the package nvidia-ml-py (provenance.md section 6)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from inference_dna.canonical import Refused
from inference_dna.measure.devices.accelerators import Device, Seen, named

_MIB = 1024 * 1024
_NO_DRIVER = ("NVML_ERROR_LIBRARY_NOT_FOUND", "NVML_ERROR_DRIVER_NOT_LOADED")
_CANNOT_TELL = ("NVML_ERROR_NOT_SUPPORTED", "NVML_ERROR_FUNCTION_NOT_FOUND", "NVML_ERROR_NOT_FOUND")
"""A fact that this device or this driver does not have; any other failure is one."""


def find_nvml() -> Any:
    """The package's module, None where it is not installed."""
    try:
        import pynvml
    except ImportError:
        return None
    return pynvml


def read_nvml(nvml: Any) -> Seen | None:
    """Ask the driver for its devices; with MIG switched on, for the instances in place of the whole.

    Args:
        nvml: The module `pynvml`.

    Returns:
        None on a machine without a driver: an ordinary way to find no devices.

    Raises:
        Refused: The driver is there and does not answer.
    """
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        if error.value in _codes(nvml, _NO_DRIVER):
            return None
        raise _refused("be asked", error) from error
    try:
        handles = [nvml.nvmlDeviceGetHandleByIndex(index) for index in range(nvml.nvmlDeviceGetCount())]
        devices = tuple(device for handle in handles for device in _devices(nvml, handle))
        return Seen(devices, _text(nvml.nvmlSystemGetDriverVersion()))
    except nvml.NVMLError as error:
        raise _refused("tell its devices", error) from error
    finally:
        nvml.nvmlShutdown()


def _devices(nvml: Any, handle: Any) -> Iterator[Device]:
    capability = nvml.nvmlDeviceGetCudaComputeCapability(handle)
    vbios = _or_none(nvml, lambda: _text(nvml.nvmlDeviceGetVbiosVersion(handle)))
    mode = _or_none(nvml, lambda: nvml.nvmlDeviceGetMigMode(handle))
    parts = [handle] if mode is None or mode[0] == nvml.NVML_DEVICE_MIG_DISABLE else _instances(nvml, handle)
    for part in parts:
        yield named(
            _text(nvml.nvmlDeviceGetName(part)),
            compute_capability=f"{capability[0]}.{capability[1]}",
            # Only MIG instances tell their multiprocessors here; for a whole device the engine does.
            sm_count=None if part is handle else nvml.nvmlDeviceGetAttributes(part).multiprocessorCount,
            uuid=_text(nvml.nvmlDeviceGetUUID(part)),
            memory_mib=nvml.nvmlDeviceGetMemoryInfo(part).total // _MIB,
            vbios=vbios,
        )


def _instances(nvml: Any, handle: Any) -> list[Any]:
    """Instances may lie at any place below the greatest number there can be."""
    places = range(nvml.nvmlDeviceGetMaxMigDeviceCount(handle))
    found = [_or_none(nvml, lambda: nvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, place)) for place in places]  # noqa: B023
    return [instance for instance in found if instance is not None]


def _or_none(nvml: Any, ask: Callable[[], Any]) -> Any:
    try:
        return ask()
    except nvml.NVMLError as error:
        if error.value in _codes(nvml, _CANNOT_TELL):
            return None
        raise


def _codes(nvml: Any, names: tuple[str, ...]) -> set[int]:
    return {getattr(nvml, name) for name in names}


def _refused(what: str, error: Exception) -> Refused:
    return Refused(f"The NVIDIA driver cannot {what}: {error}.")


def _text(value: str | bytes) -> str:
    """Older releases of the package give bytes."""
    return value.decode() if isinstance(value, bytes) else value
