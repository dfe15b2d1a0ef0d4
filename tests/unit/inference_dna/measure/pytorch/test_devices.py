from __future__ import annotations

import pytest

from inference_dna.canonical import Refused
from inference_dna.measure.devices.accelerators import Device, Seen
from inference_dna.measure.pytorch.devices import cuda_version, cudnn_version, nccl_version, read_torch_devices
from tests.support.recorded_gpu import A100, A100_UUIDS, RecordedProperties, RecordedTorch

pytestmark = pytest.mark.models

ONE = RecordedProperties(A100, A100_UUIDS[0].removeprefix("GPU-"))


def test_a_device_that_computes_is_listed() -> None:
    (device,) = read_torch_devices(RecordedTorch((ONE,))).devices

    assert device == Device(A100, "8.0", 108, None, A100_UUIDS[0].removeprefix("GPU-"), 40338)


def test_an_instance_has_its_profile() -> None:
    (device,) = read_torch_devices(RecordedTorch((RecordedProperties(f"{A100} MIG 1g.5gb", None),))).devices

    assert (device.name, device.mig, device.uuid) == (A100, "1g.5gb", None)


def test_a_device_that_is_listed_and_does_not_compute_is_refused() -> None:
    torch = RecordedTorch((ONE, ONE), broken=frozenset({1}))

    with pytest.raises(Refused, match="device 1 is listed and cannot compute: CUDA error: uncorrectable ECC"):
        read_torch_devices(torch)
    with pytest.raises(Refused, match="device 0 is listed and cannot compute: a small sum came out wrong"):
        read_torch_devices(RecordedTorch((ONE,), one=1.5))


def test_the_architecture_of_rocm_has_a_name() -> None:
    properties = RecordedProperties("AMD Instinct MI300X", None, 9, 4, 304, 2**37, "gfx942:sramecc+:xnack-")

    (device,) = read_torch_devices(RecordedTorch((properties,), cuda_built=None)).devices

    assert device.compute_capability == "gfx942:sramecc+:xnack-"


@pytest.mark.parametrize(("number", "version"), [(8902, "8.9.2"), (90100, "9.1.0"), (7605, "7.6.5"), (None, None)])
def test_the_number_of_cudnn_is_read_as_nvidia_writes_it(number: int | None, version: str | None) -> None:
    assert cudnn_version(RecordedTorch(cudnn_number=number)) == version


def test_a_build_for_the_processor_has_no_such_libraries() -> None:
    import torch

    if torch.version.cuda is not None:
        pytest.skip("this build has CUDA")
    assert (cuda_version(torch), cudnn_version(torch), nccl_version(torch)) == (None, None, None)
    assert read_torch_devices(torch) == Seen(())


def test_a_build_for_cuda_tells_its_libraries() -> None:
    assert cuda_version(RecordedTorch()) == "12.1"
    assert nccl_version(RecordedTorch()) == "2.19.3"
