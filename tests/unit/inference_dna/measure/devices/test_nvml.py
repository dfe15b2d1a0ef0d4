from __future__ import annotations

import sys

import pytest

from inference_dna.canonical import Refused
from inference_dna.measure.devices.accelerators import Device, Seen
from inference_dna.measure.devices.nvml import find_nvml, read_nvml
from tests.support.recorded_gpu import A100, A100_UUIDS, MIG_UUIDS, RecordedDevice, recorded_nvml

pynvml = pytest.importorskip("pynvml")
pytestmark = pytest.mark.models

WHOLE = RecordedDevice(A100, A100_UUIDS[0], 40960 * 1024 * 1024)
PARTS = RecordedDevice(
    A100,
    A100_UUIDS[0],
    40960 * 1024 * 1024,
    mig_mode=(1, 1),
    instances=(
        RecordedDevice(f"{A100} MIG 1g.5gb", MIG_UUIDS[0], 4864 * 1024 * 1024, multiprocessors=14),
        None,
        RecordedDevice(f"{A100} MIG 3g.20gb", MIG_UUIDS[1], 19968 * 1024 * 1024, multiprocessors=42),
    ),
)


def test_a_whole_device() -> None:
    device = Device(A100, "8.0", None, None, A100_UUIDS[0], 40960, "92.00.45.00.03")

    assert read_nvml(recorded_nvml(WHOLE)) == Seen((device,), "535.129.03")


def test_instances_stand_in_place_of_the_whole() -> None:
    seen = read_nvml(recorded_nvml(PARTS))

    assert seen is not None
    assert seen.devices == (
        Device(A100, "8.0", 14, "1g.5gb", MIG_UUIDS[0], 4864, "92.00.45.00.03"),
        Device(A100, "8.0", 42, "3g.20gb", MIG_UUIDS[1], 19968, "92.00.45.00.03"),
    )


def test_what_a_device_does_not_have_is_null() -> None:
    seen = read_nvml(recorded_nvml(RecordedDevice("Tesla T4", "GPU-1", 1024**3, vbios=None, mig_mode=None)))

    assert seen is not None
    assert (seen.devices[0].vbios, seen.devices[0].mig) == (None, None)


def test_no_device_is_a_measured_fact() -> None:
    assert read_nvml(recorded_nvml()) == Seen((), "535.129.03")


@pytest.mark.parametrize("error", ["NVML_ERROR_LIBRARY_NOT_FOUND", "NVML_ERROR_DRIVER_NOT_LOADED"])
def test_a_machine_without_a_driver_is_ordinary(error: str) -> None:
    assert read_nvml(recorded_nvml(init_error=getattr(pynvml, error))) is None


def test_a_driver_that_does_not_answer_is_refused() -> None:
    with pytest.raises(Refused, match=r"cannot be asked: .*mismatch"):
        read_nvml(recorded_nvml(init_error=pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH))
    with pytest.raises(Refused, match=r"cannot tell its devices: .*lost"):
        read_nvml(recorded_nvml(RecordedDevice(A100, A100_UUIDS[0], -1)))
    with pytest.raises(Refused, match=r"cannot tell its devices: .*lost"):
        read_nvml(recorded_nvml(RecordedDevice(A100, A100_UUIDS[0], 1024, vbios="lost")))


def test_names_may_come_as_bytes() -> None:
    seen = read_nvml(recorded_nvml(WHOLE, driver=b"535.129.03"))  # type: ignore[arg-type]

    assert seen is not None
    assert seen.driver == "535.129.03"


def test_a_worker_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)

    assert find_nvml() is None


def test_this_machine_can_be_asked() -> None:
    """Whatever this machine has, the answer is one: devices, no device, or no driver."""
    nvml = find_nvml()

    assert nvml is pynvml
    seen = read_nvml(nvml)
    assert seen is None or all(device.name for device in seen.devices)
