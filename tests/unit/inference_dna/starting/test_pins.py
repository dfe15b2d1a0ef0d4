from __future__ import annotations

import json
from typing import Any

import pytest

from inference_dna.canonical import Refused
from inference_dna.starting.pins import Unmet, parse_pins, pins_of_contract, unmet
from tests.support.manifests import artifact_of, genome_of, with_value

GENOME = with_value(genome_of(), "hardware.evidence", {"driver_version": "535.129.03", "memory_mib": [40960]})


@pytest.mark.parametrize(
    ("name", "value", "holds"),
    [
        ("cuda", "12.1", True),
        ("cuda", "12", True),
        ("cuda", ">=12.1 <13", True),
        ("cuda", "12.2", False),
        ("cudnn", "8.9.2", True),
        ("cudnn", "8.9.7", False),
        ("driver", "535.129", True),
        ("driver", "535.161", False),
        ("compute_capability", ">=8.0", True),
        ("compute_capability", "9.0", False),
        ("gpu", ["A100"], True),
        ("gpu", ["H100", "A100"], True),
        ("gpu", ["A10"], False),
        ("requires_gpu_memory_gb", 40, True),
        ("requires_gpu_memory_gb", 80, False),
        ("torch", "2.2", True),
        ("torch", "2.2.0", True),
        ("torch", "2.3", False),
        ("vllm", "0.11", False),
        ("python", "3.11.7", True),
        ("python", "3.12", False),
    ],
)
def test_pins(name: str, value: Any, holds: bool) -> None:
    assert (unmet({name: value}, GENOME) == ()) is holds


def test_an_unmet_pin_says_both() -> None:
    assert unmet({"cuda": "12.2", "gpu": ["H100", "H200"]}, GENOME) == (
        Unmet("cuda", "12.2", "12.1"),
        Unmet("gpu", "H100 or H200", "NVIDIA A100-SXM4-40GB"),
    )


def test_a_fact_that_was_not_measured_meets_no_pin() -> None:
    pins: dict[str, Any] = {"cuda": "12.1", "gpu": ["A100"], "torch": "2", "requires_gpu_memory_gb": 1, "driver": "535"}
    measured = [each.measured for each in unmet(pins, artifact_of(GENOME))]

    assert measured == ["not measured", "none", "not measured", "none", "not measured"]


def test_every_device_must_meet_the_pin() -> None:
    devices = [{"name": "NVIDIA A100", "compute_capability": "8.0"}, {"name": "NVIDIA T4"}]
    genome = with_value(GENOME, "hardware.accelerators", devices)

    assert [each.name for each in unmet({"gpu": ["A100"], "compute_capability": "8.0"}, genome)] == [
        "gpu",
        "compute_capability",
    ]


@pytest.mark.parametrize(
    "pins",
    [
        {"gpu": "A100"},
        {"gpu": []},
        {"gpu": [1]},
        {"cuda": 12.1},
        {"cuda": "twelve"},
        {"requires_gpu_memory_gb": "40"},
        {"requires_gpu_memory_gb": 0},
        {"requires_gpu_memory_gb": True},
    ],
)
def test_pins_of_another_form_are_refused(pins: Any) -> None:
    with pytest.raises(Refused, match="pin"):
        parse_pins(pins)


def contract(requirements: Any) -> str:
    return json.dumps({"model_id": "m", "version": "v1.0.0", "contract": {"hardware_requirements": requirements}})


def test_the_pins_of_a_contract() -> None:
    assert pins_of_contract(contract({"gpu": ["A100"], "cuda": "12.1", "cudnn": "8.9.2", "driver": None})) == {
        "gpu": ["A100"],
        "cuda": "12.1",
        "cudnn": "8.9.2",
    }


@pytest.mark.parametrize("text", ['{"model_id": "m"}', '{"model_id": "m", "contract": {}}', contract(None)])
def test_a_contract_may_ask_for_nothing(text: str) -> None:
    assert pins_of_contract(text) == {}


@pytest.mark.parametrize("text", ["{", "[]", '{"contract": {}}', contract([]), contract({"cuda": 12})])
def test_contracts_that_cannot_be_read(text: str) -> None:
    with pytest.raises(Refused):
        pins_of_contract(text)
