from __future__ import annotations

import platform
from pathlib import Path

import pytest

from inference_dna.canonical import Refused
from inference_dna.genome import section_digest
from inference_dna.measure.cpu import read_cpu
from inference_dna.measure.hardware import CPUINFO, cpu_hardware

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
