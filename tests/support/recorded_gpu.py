"""Answers of NVIDIA's tools as real machines give them, replayed: the machines of these tests have no such devices."""

from __future__ import annotations

import stat
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

A100 = "NVIDIA A100-SXM4-40GB"
H100 = "NVIDIA H100 80GB HBM3"
A100_UUIDS = ("GPU-3f2a1c9e-5b7d-4e02-9c41-a8d0f6b21e77", "GPU-b0c4d2aa-19e6-48f3-8a5d-2e7f9013c6d1")
MIG_UUIDS = ("MIG-c6d4f1ef-42e4-5de3-91c7-45d71c87eb3f", "MIG-9a1b7d30-0c5e-5f0a-8a6d-1e2f3a4b5c6d")

QUERY = "name,uuid,driver_version,vbios_version,memory.total,compute_cap,mig.mode.current"
TWO_A100 = f"""\
{A100}, {A100_UUIDS[0]}, 535.129.03, 92.00.45.00.03, 40960, 8.0, Disabled
{A100}, {A100_UUIDS[1]}, 535.129.03, 92.00.45.00.03, 40960, 8.0, Disabled
"""
ONE_H100 = f"{H100}, GPU-7d1c02b4-6c55-4f9e-b1a3-0d9b5e8f7a21, 550.54.15, 96.00.89.00.01, 81559, 9.0, Disabled\n"
MIG_A100 = f"{A100}, {A100_UUIDS[0]}, 535.129.03, 92.00.45.00.03, 40960, 8.0, Enabled\n"
MIG_LIST = f"""\
GPU 0: {A100} (UUID: {A100_UUIDS[0]})
  MIG 1g.5gb      Device  0: (UUID: {MIG_UUIDS[0]})
  MIG 3g.20gb     Device  1: (UUID: {MIG_UUIDS[1]})

"""
OLD_FIELD = 'Field "compute_cap" is not a valid field to query.\n\n'
OLD_T4 = "Tesla T4, GPU-1e0d9c8b-7a65-4433-2211-00ffeeddccbb, 470.182.03, 90.04.38.00.03, 15109, [N/A]\n"
NO_DRIVER = (
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA "
    "driver is installed and running.\n"
)
NO_DEVICE = "No devices were found\n"
MISMATCH = "Failed to initialize NVML: Driver/library version mismatch\n"
LOST = f"{A100}, {A100_UUIDS[0]}, 535.129.03, [GPU is lost], 40960, 8.0, Disabled\n"


def write_nvidia_smi(folder: Path, answers: dict[str, tuple[int, str]]) -> Path:
    """Write a program that answers like `nvidia-smi`: status and text by the arguments it is called with."""
    program = folder / "nvidia-smi"
    program.write_text(
        f"#!{sys.executable}\nimport sys\nstatus, text = {answers!r}[' '.join(sys.argv[1:])]\n"
        "sys.stdout.write(text)\nsys.exit(status)\n",
        encoding="utf-8",
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program


@dataclass(frozen=True)
class RecordedDevice:
    """What NVML tells of one device or MIG instance; None where it says that this is not supported."""

    name: str
    uuid: str
    total: int
    vbios: str | None = "92.00.45.00.03"
    capability: tuple[int, int] = (8, 0)
    mig_mode: tuple[int, int] | None = (0, 0)
    instances: tuple[RecordedDevice | None, ...] = ()
    multiprocessors: int | None = None


def recorded_nvml(*devices: RecordedDevice, driver: str = "535.129.03", init_error: int | None = None) -> Any:
    """The functions of nvidia-ml-py over recorded answers, with the package's own errors."""
    import pynvml

    def supported(value: Any) -> Any:
        if value is None:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)
        if value == "lost":
            raise pynvml.NVMLError(pynvml.NVML_ERROR_GPU_IS_LOST)
        return value

    def instance(device: RecordedDevice, place: int) -> RecordedDevice:
        found = device.instances[place]
        if found is None:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_FOUND)
        return found

    def init() -> None:
        if init_error is not None:
            raise pynvml.NVMLError(init_error)

    def by_index(index: int) -> RecordedDevice:
        if devices[index].total < 0:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_GPU_IS_LOST)
        return devices[index]

    return SimpleNamespace(
        **{name: getattr(pynvml, name) for name in dir(pynvml) if name.startswith(("NVML_", "NVMLError"))},
        nvmlInit=init,
        nvmlShutdown=lambda: None,
        nvmlDeviceGetCount=lambda: len(devices),
        nvmlDeviceGetHandleByIndex=by_index,
        nvmlSystemGetDriverVersion=lambda: driver,
        nvmlDeviceGetCudaComputeCapability=lambda device: device.capability,
        nvmlDeviceGetVbiosVersion=lambda device: supported(device.vbios),
        nvmlDeviceGetMigMode=lambda device: supported(device.mig_mode),
        nvmlDeviceGetMaxMigDeviceCount=lambda device: len(device.instances),
        nvmlDeviceGetMigDeviceHandleByIndex=instance,
        nvmlDeviceGetName=lambda device: device.name,
        nvmlDeviceGetUUID=lambda device: device.uuid,
        nvmlDeviceGetMemoryInfo=lambda device: SimpleNamespace(total=device.total),
        nvmlDeviceGetAttributes=lambda device: SimpleNamespace(multiprocessorCount=supported(device.multiprocessors)),
    )


@dataclass(frozen=True)
class RecordedProperties:
    """What `torch.cuda.get_device_properties` tells."""

    name: str
    uuid: str | None
    major: int = 8
    minor: int = 0
    multi_processor_count: int = 108
    total_memory: int = 42297786368
    gcnArchName: str = "sm_80"  # noqa: N815  (the library's own spelling)


@dataclass
class RecordedTorch:
    """The part of PyTorch that tells of devices; `broken` ones are listed and do not compute."""

    devices: tuple[RecordedProperties, ...] = ()
    cuda_built: str | None = "12.1"
    cudnn_number: int | None = 8902
    broken: frozenset[int] = field(default_factory=frozenset)
    one: float = 1.0

    def __post_init__(self) -> None:
        self.version = SimpleNamespace(cuda=self.cuda_built, hip=None)
        self.__config__ = SimpleNamespace(show=lambda: "  - Intel(R) oneAPI Math Kernel Library Version 2024.2-Product")
        self.backends = SimpleNamespace(cudnn=SimpleNamespace(version=lambda: self.cudnn_number))
        self.cuda = SimpleNamespace(
            is_available=lambda: bool(self.devices),
            device_count=lambda: len(self.devices),
            get_device_properties=self.devices.__getitem__,
            synchronize=lambda index: None,
            nccl=SimpleNamespace(version=lambda: (2, 19, 3)),
        )

    def ones(self, size: int, *, device: str) -> Any:
        if int(device.partition(":")[2]) in self.broken:
            raise RuntimeError("CUDA error: uncorrectable ECC error encountered")
        import numpy

        return numpy.full(size, self.one)
