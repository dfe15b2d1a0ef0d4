from __future__ import annotations

import platform
from pathlib import Path

import pytest

from inference_dna.canonical import Refused
from inference_dna.genome import section_digest
from inference_dna.measure.cpu import read_cpu
from inference_dna.measure.devices.accelerators import Device, Seen
from inference_dna.measure.hardware import CPUINFO, Versions, accelerator_hardware, cpu_hardware

CPUINFO_TEXT = "processor\t: 0\nmodel name\t: AMD EPYC 9654\nflags\t\t: fpu avx avx2 fma\n"
MAPS_TEXT = "7f2a0000-7f2a1000 r-xp 00000000 08:01 12 /usr/lib/libdnnl.so.3.5\n"


def test_a_machine_without_accelerators_is_described_by_its_processor(tmp_path: Path) -> None:
    (tmp_path / "cpuinfo").write_text(CPUINFO_TEXT, encoding="utf-8")
    (tmp_path / "maps").write_text(MAPS_TEXT, encoding="utf-8")

    section = cpu_hardware(machine="x86_64", cpuinfo=tmp_path / "cpuinfo", maps=tmp_path / "maps")

    assert section == {
        "accelerators": [],
        "cuda": None,
        "cudnn": None,
        "driver_branch": None,
        "libraries": {"onednn": "3.5"},
        "cpu": {"arch": "x86_64", "isa": "AVX2", "features": ["avx", "avx2", "fma"]},
        "evidence": {"memory_mib": [], "cpu": {"arch": "x86_64", "model": "AMD EPYC 9654"}},
    }


def test_a_platform_that_tells_nothing_has_nulls(tmp_path: Path) -> None:
    section = cpu_hardware(machine="arm64", cpuinfo=tmp_path / "cpuinfo", maps=tmp_path / "maps")

    assert section["libraries"] is None
    assert section["cpu"] == {"arch": "aarch64", "isa": None, "features": None}


def test_a_source_that_is_there_and_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="Is a directory"):
        cpu_hardware(cpuinfo=tmp_path)


def test_this_machine_is_measured_the_same_way_twice() -> None:
    first, second = cpu_hardware(), cpu_hardware()

    assert section_digest("hardware", first) == section_digest("hardware", second)
    cpu = first["cpu"]
    assert isinstance(cpu, dict)
    assert cpu["arch"] == read_cpu(platform.machine(), None).arch
    told = CPUINFO.read_text(encoding="utf-8").split() if CPUINFO.exists() else []
    assert set(cpu["features"] or ()) <= set(told)


A100S = Seen(
    tuple(Device("NVIDIA A100-SXM4-40GB", "8.0", 108, None, f"GPU-{n}", 40960, "92.00.45.00.03") for n in (1, 2)),
    "535.129.03",
)
CUDA_MAPS = (
    "7f2a0000-7f2a1000 r-xp 00000000 08:01 12 /usr/local/cuda/lib64/libcudart.so.12.4.127\n"
    "7f2b0000-7f2b1000 r-xp 00000000 08:01 13 /usr/lib/x86_64-linux-gnu/libcudnn.so.8.9.2\n"
    "7f2c0000-7f2c1000 r-xp 00000000 08:01 14 /usr/local/cuda/lib64/libcublas.so.12.4.5.8\n"
)


def test_accelerators_are_described_with_the_libraries_that_are_mapped(tmp_path: Path) -> None:
    (tmp_path / "maps").write_text(CUDA_MAPS, encoding="utf-8")

    section = accelerator_hardware(
        A100S, Versions(cuda="12.1", cudnn="8.9.2", libraries={"nccl": "2.19.3"}), maps=tmp_path / "maps"
    )

    assert section == {
        "accelerators": [
            {"name": "NVIDIA A100-SXM4-40GB", "count": 2, "compute_capability": "8.0", "sm_count": 108, "mig": None}
        ],
        "cuda": "12.4",
        "cudnn": "8.9.2",
        "driver_branch": "535",
        "libraries": {"cublas": "12.4.5.8", "cudart": "12.4.127", "cudnn": "8.9.2", "nccl": "2.19.3"},
        "cpu": None,
        "evidence": {
            "driver_version": "535.129.03",
            "memory_mib": [40960, 40960],
            "uuid": ["GPU-1", "GPU-2"],
            "vbios": ["92.00.45.00.03", "92.00.45.00.03"],
            "built_for": {"cuda": "12.1"},
        },
    }


@pytest.mark.parametrize(
    ("mapped", "cuda"),
    [
        pytest.param("", "12.1", id="nothing-mapped"),
        pytest.param("/l/libcudart.so.12", "12.1", id="first-number-only"),
        pytest.param("/a/libcudart.so.12.4.127|/b/libcudart.so.12.1.105", "12.1", id="two-copies"),
        pytest.param("/a/libcudart.so.12.4.127", "12.4", id="the-mapped-one-counts"),
    ],
)
def test_the_version_of_cuda_is_the_mapped_one_where_it_is_told(tmp_path: Path, mapped: str, cuda: str) -> None:
    lines = [f"7f00-7f01 r-xp 00000000 08:01 1 {path}" for path in mapped.split("|") if path]
    (tmp_path / "maps").write_text("\n".join(lines), encoding="utf-8")

    assert accelerator_hardware(A100S, Versions(cuda="12.1"), maps=tmp_path / "maps")["cuda"] == cuda


def test_the_driver_s_patch_is_evidence_and_its_branch_is_not(tmp_path: Path) -> None:
    def digest(driver: str) -> str:
        section = accelerator_hardware(Seen(A100S.devices, driver), Versions(), maps=tmp_path / "none")
        return section_digest("hardware", section)

    assert digest("535.129.03") == digest("535.183.01") != digest("550.54.15")


def test_a_process_without_devices_is_not_described_by_devices() -> None:
    with pytest.raises(Refused, match="no accelerator"):
        accelerator_hardware(Seen(()), Versions())


def test_libraries_inside_the_engine_and_its_instruction_set_are_told(tmp_path: Path) -> None:
    (tmp_path / "cpuinfo").write_text(CPUINFO_TEXT, encoding="utf-8")
    (tmp_path / "maps").write_text(MAPS_TEXT, encoding="utf-8")

    section = cpu_hardware(
        machine="x86_64", cpuinfo=tmp_path / "cpuinfo", maps=tmp_path / "maps", isa="DEFAULT",
        libraries={"mkl": "2024.2", "onednn": "3.12.0"},
    )  # fmt: skip

    assert section["libraries"] == {"mkl": "2024.2", "onednn": "3.5"}
    cpu = section["cpu"]
    assert isinstance(cpu, dict)
    assert cpu["isa"] == "DEFAULT"
