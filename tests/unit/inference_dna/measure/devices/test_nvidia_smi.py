from __future__ import annotations

import os
from pathlib import Path

import pytest

from inference_dna.canonical import Refused
from inference_dna.measure.devices.accelerators import Device, Seen
from inference_dna.measure.devices.nvidia_smi import Run, find_nvidia_smi, read_nvidia_smi
from tests.support import recorded_gpu as recorded

ASKED = f"--query-gpu={recorded.QUERY} --format=csv,noheader,nounits"
ASKED_OLD = ASKED.replace(",compute_cap", "")


@pytest.fixture
def on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def command(folder: Path, answers: dict[str, tuple[int, str]]) -> Run:
    recorded.write_nvidia_smi(folder, answers)
    run = find_nvidia_smi()
    assert run is not None
    return run


def test_whole_devices(on_path: Path) -> None:
    seen = read_nvidia_smi(command(on_path, {ASKED: (0, recorded.TWO_A100)}))

    devices = [Device(recorded.A100, "8.0", None, None, uuid, 40960, "92.00.45.00.03") for uuid in recorded.A100_UUIDS]
    assert seen == Seen(tuple(devices), "535.129.03")


def test_another_card(on_path: Path) -> None:
    seen = read_nvidia_smi(command(on_path, {ASKED: (0, recorded.ONE_H100)}))

    assert seen is not None
    assert (seen.devices[0].name, seen.devices[0].compute_capability, seen.driver) == (
        recorded.H100, "9.0", "550.54.15",
    )  # fmt: skip


def test_instances_stand_in_place_of_the_whole(on_path: Path) -> None:
    run = command(on_path, {ASKED: (0, recorded.MIG_A100), "-L": (0, recorded.MIG_LIST)})

    seen = read_nvidia_smi(run)

    assert seen is not None
    assert [(device.name, device.mig, device.uuid) for device in seen.devices] == [
        (recorded.A100, "1g.5gb", recorded.MIG_UUIDS[0]),
        (recorded.A100, "3g.20gb", recorded.MIG_UUIDS[1]),
    ]
    assert seen.devices[0].memory_mib is None


def test_a_driver_that_does_not_know_a_field_is_asked_without(on_path: Path) -> None:
    run = command(on_path, {ASKED: (2, recorded.OLD_FIELD), ASKED_OLD: (0, recorded.OLD_T4)})

    seen = read_nvidia_smi(run)

    assert seen is not None
    assert seen.devices == (
        Device("Tesla T4", None, None, None, "GPU-1e0d9c8b-7a65-4433-2211-00ffeeddccbb", 15109, "90.04.38.00.03"),
    )


@pytest.mark.parametrize(("status", "text"), [(9, recorded.NO_DRIVER), (6, recorded.NO_DEVICE)])
def test_two_ordinary_ways_to_find_nothing(on_path: Path, status: int, text: str) -> None:
    assert read_nvidia_smi(command(on_path, {ASKED: (status, text)})) is None


@pytest.mark.parametrize(
    ("status", "text", "reason"),
    [
        (18, recorded.MISMATCH, "version mismatch"),
        (0, recorded.LOST, "GPU is lost.* for vbios_version"),
        (0, "NVIDIA A100, GPU-1\n", "2 values in place of 7"),
        (2, 'Field "uuid" is not a valid field to query.', "uuid"),
    ],
)
def test_a_command_that_fails_is_refused(on_path: Path, status: int, text: str, reason: str) -> None:
    with pytest.raises(Refused, match=reason):
        read_nvidia_smi(command(on_path, {ASKED: (status, text)}))


def test_a_list_that_fails_is_refused(on_path: Path) -> None:
    with pytest.raises(Refused, match="failed: Insufficient"):
        read_nvidia_smi(command(on_path, {ASKED: (0, recorded.MIG_A100), "-L": (4, "Insufficient Permissions\n")}))


def test_a_machine_without_the_command(on_path: Path) -> None:
    assert find_nvidia_smi() is None


def test_a_command_that_cannot_be_run_is_refused(on_path: Path) -> None:
    run = command(on_path, {})
    (on_path / "nvidia-smi").write_text("#!/nowhere/at/all\n", encoding="utf-8")

    with pytest.raises(Refused, match="does not answer"):
        read_nvidia_smi(run)
    assert os.access(on_path / "nvidia-smi", os.X_OK)
