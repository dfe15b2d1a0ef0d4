from __future__ import annotations

import os
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import cast

import msgspec
import pytest

from inference_dna.attest.engine import Told
from inference_dna.attest.engines import ENGINES, engine_named
from inference_dna.attest.interpreter import Interpreter, interpreter
from inference_dna.attest.outside import Outside, framework_outside, hardware_outside
from inference_dna.attest.process import mappings, require_running
from inference_dna.canonical import Refused
from inference_dna.measure.devices.nvidia_smi import Answer
from tests.support.recorded_gpu import A100, NO_DRIVER, TWO_A100

ME = require_running(os.getpid())
GPU_MAPS = """\
7f00-7f01 r-xp 00000000 08:01 12 /usr/lib/x86_64-linux-gnu/libcuda.so.535.129.03
7f02-7f03 r-xp 00000000 08:01 13 /usr/local/cuda/lib64/libcudart.so.12.1.105
7f04-7f05 r-xp 00000000 08:01 14 /usr/lib/libcudnn.so.8.9.2
"""


def outside(maps: str, sites: tuple[Path, ...] = ()) -> Outside:
    return Outside(ME, maps, Interpreter(sites), {})


def test_an_engine_that_uses_the_driver_has_the_drivers_devices() -> None:
    section = hardware_outside(outside(GPU_MAPS), nvml=None, nvidia_smi=lambda _: Answer(0, TWO_A100))

    (device,) = cast("list[dict[str, object]]", section["accelerators"])
    assert (device["name"], device["count"]) == (A100, 2)
    assert (section["cuda"], section["cudnn"], section["driver_branch"]) == ("12.1", "8.9.2", "535")


def test_one_that_does_not_is_described_by_its_processor_whatever_cards_there_are() -> None:
    section = hardware_outside(outside(""), nvml=None, nvidia_smi=lambda _: Answer(0, TWO_A100))

    assert section["accelerators"] == []
    assert section["cpu"]


@pytest.mark.parametrize("nvidia_smi", [None, lambda _: Answer(9, NO_DRIVER)])
def test_devices_that_nobody_here_can_see_are_no_processor(nvidia_smi: object) -> None:
    with pytest.raises(Refused, match="neither its library nor nvidia-smi"):
        hardware_outside(outside(GPU_MAPS), nvml=None, nvidia_smi=nvidia_smi)  # type: ignore[arg-type]


def test_packages_are_those_of_the_engines_interpreter() -> None:
    found = interpreter(ME, mappings(ME))

    assert Path(msgspec.__file__).parents[1] in found.sites
    assert found.find("msgspec").version == version("msgspec")
    assert found.python is not None
    with pytest.raises(PackageNotFoundError):
        Interpreter(()).find("msgspec")


def test_an_engine_whose_package_is_not_there_is_refused() -> None:
    with pytest.raises(Refused, match="'transformers' is not installed where the engine runs"):
        framework_outside(engine_named("transformers"), Told(None, "m"), outside(""))


def test_a_program_counts_by_its_bytes() -> None:
    section = framework_outside(engine_named("llamacpp"), Told("b8681", "m"), outside(""))

    programs = section["programs"]
    assert isinstance(programs, dict)
    assert list(programs) == [Path(f"/proc/{ME.pid}/exe").readlink().name]
    assert section["packages"] == {}


def test_an_engine_nobody_knows_is_refused() -> None:
    with pytest.raises(Refused, match="name one of " + ", ".join(ENGINES)):
        engine_named("ollama")
