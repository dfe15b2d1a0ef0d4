from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from inference_dna.canonical import Refused
from inference_dna.genome import section_digest
from inference_dna.measure.devices.nvidia_smi import Answer
from inference_dna.measure.pytorch.stack import Machine, torch_framework, torch_hardware
from tests.support.recorded_gpu import (
    A100,
    A100_UUIDS,
    NO_DRIVER,
    TWO_A100,
    RecordedDevice,
    RecordedProperties,
    RecordedTorch,
    recorded_nvml,
)

pytestmark = pytest.mark.models

CARD = RecordedProperties(A100, A100_UUIDS[0].removeprefix("GPU-"))
TOLD = RecordedDevice(A100, A100_UUIDS[0], 40960 * 1024 * 1024)


def machine(folder: Path, **given: Any) -> Machine:
    (folder / "maps").write_text("", encoding="utf-8")
    return Machine(**{"nvml": None, "nvidia_smi": None, "maps": folder / "maps", **given})


@pytest.mark.parametrize(
    "sources",
    [
        pytest.param({"nvml": "library"}, id="library"),
        pytest.param({"nvidia_smi": lambda _: Answer(0, TWO_A100)}, id="command"),
        pytest.param({"nvml": "none", "nvidia_smi": lambda _: Answer(0, TWO_A100)}, id="library-without-driver"),
    ],
)
def test_whichever_reader_of_the_driver_is_there_the_section_is_one(tmp_path: Path, sources: dict[str, Any]) -> None:
    import pynvml

    modules = {"library": recorded_nvml(TOLD), "none": recorded_nvml(init_error=pynvml.NVML_ERROR_DRIVER_NOT_LOADED)}
    given = {**sources, **({"nvml": modules[sources["nvml"]]} if "nvml" in sources else {})}

    section = torch_hardware(RecordedTorch((CARD,)), "cuda", machine(tmp_path, **given))

    assert section["accelerators"] == [
        {"name": A100, "count": 1, "compute_capability": "8.0", "sm_count": 108, "mig": None}
    ]
    assert (section["cuda"], section["cudnn"], section["driver_branch"]) == ("12.1", "8.9.2", "535")
    assert section["libraries"] == {"mkl": "2024.2", "nccl": "2.19.3"}
    evidence: Any = section["evidence"]
    assert evidence["uuid"] == [A100_UUIDS[0]]
    assert evidence["memory_mib"] == [40960]
    assert len(section_digest("hardware", section, ["hardware.driver_version", "hardware.vbios"])) == 64


def test_a_machine_whose_driver_cannot_be_asked_has_nulls(tmp_path: Path) -> None:
    given = machine(tmp_path, nvidia_smi=lambda _: Answer(9, NO_DRIVER))

    section = torch_hardware(RecordedTorch((CARD,)), "cuda", given)

    assert section["driver_branch"] is None
    assert section["evidence"]["driver_version"] is None  # type: ignore[index,call-overload]


def test_the_processor_is_described_where_the_model_is_on_it(tmp_path: Path) -> None:
    import torch

    section = torch_hardware(torch, "cpu", Machine())

    assert section["accelerators"] == []
    assert section["cpu"]["isa"] == torch.backends.cpu.get_cpu_capability()  # type: ignore[index,call-overload]
    assert "onednn" in section["libraries"]  # type: ignore[operator]


@pytest.mark.parametrize(
    ("kind", "devices", "reason"),
    [
        pytest.param("mps", (), "of the kind 'mps'", id="a-kind-nobody-can-describe"),
        pytest.param("cuda", (), "no accelerator", id="a-device-this-process-does-not-see"),
        pytest.param("cuda", (CARD,), "the driver does not list", id="a-device-the-driver-does-not-know"),
    ],
)
def test_what_cannot_be_described_is_refused(
    tmp_path: Path, kind: str, devices: tuple[RecordedProperties, ...], reason: str
) -> None:
    other = recorded_nvml(RecordedDevice(A100, A100_UUIDS[1], 1))

    with pytest.raises(Refused, match=reason):
        torch_hardware(RecordedTorch(devices), kind, machine(tmp_path, nvml=other))


def test_the_framework_names_engine_and_commit() -> None:
    import torch

    section: Any = torch_framework(
        torch, engine="torch", packages=["torch", "no-such-package"], flags={"own": 1}, layout={"tensor": 2}, environ={}
    )

    assert section["engine"]["version"] == torch.__version__
    assert section["flags"]["own"] == 1
    assert section["parallel"]["tensor"] == 2
    assert section["evidence"]["commits"] == {"torch": torch.version.git_version}
