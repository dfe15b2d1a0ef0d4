from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.hardware import HardwareRequirements, unmet, unstated

A100: Mapping[str, Any] = {
    "accelerators": [{"name": "NVIDIA A100-SXM4-40GB", "count": 1, "compute_capability": "8.0", "sm_count": 108}],
    "cuda": "12.1",
    "cudnn": "8.9.2",
    "driver_branch": "535",
    "evidence": {"driver_version": "535.129.03", "memory_mib": [40960]},
}
CPU_ONLY: Mapping[str, Any] = {
    "accelerators": [],
    "cuda": None,
    "cudnn": None,
    "driver_branch": None,
    "cpu": {"arch": "x86_64", "isa": "AVX2"},
}
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["name", "memory_mib", "x"]), inner),
    max_leaves=6,
)
_MEMBERS = ["accelerators", "cuda", "cudnn", "driver_branch", "driver", "gpu", "gpu_name", "evidence", "memory_mib"]


def demand(**requirements: Any) -> HardwareRequirements:
    return HardwareRequirements.model_validate(requirements)


EVERYTHING = demand(
    gpu=["A100"],
    cuda="12.1",
    cudnn="8.9.2",
    driver=">=535",
    compute_capability="8.0",
    requires_gpu_memory_gb=40,
)


def state_of(requirements: HardwareRequirements, hardware: Mapping[str, Any] | None) -> str:
    contradictions, silences = unmet(requirements, hardware), unstated(requirements, hardware)
    assert not (contradictions and silences)
    return "unmet" if contradictions else "unstated" if silences else "met"


def test_the_example_of_the_design_is_met_on_its_machine() -> None:
    assert state_of(demand(gpu=["A100"], cuda="12.1", cudnn="8.9.2"), A100) == "met"
    assert state_of(EVERYTHING, A100) == "met"


@pytest.mark.parametrize("hardware", [None, {}, A100, CPU_ONLY])
def test_without_requirements_any_machine_will_do(hardware: Mapping[str, Any] | None) -> None:
    assert demand().is_empty
    assert state_of(demand(), hardware) == "met"


def test_requirements_are_not_empty_as_soon_as_one_is_stated() -> None:
    assert not demand(cuda="12").is_empty


@pytest.mark.parametrize(
    ("wanted", "name", "state"),
    [
        ("A100", "NVIDIA A100-SXM4-40GB", "met"),
        ("a100", "NVIDIA A100-SXM4-40GB", "met"),
        ("A10", "NVIDIA A100-SXM4-40GB", "unmet"),
        ("A100", "NVIDIA A10", "unmet"),
        ("A10", "NVIDIA A10", "met"),
        ("A100-SXM4", "NVIDIA A100-SXM4-40GB", "met"),
        ("A100 SXM4 40GB", "NVIDIA A100-SXM4-40GB", "met"),
        ("A100-40GB", "NVIDIA A100-SXM4-40GB", "unmet"),
        ("RTX 4090", "NVIDIA GeForce RTX 4090", "met"),
        ("RTX 409", "NVIDIA GeForce RTX 4090", "unmet"),
        ("H100", "NVIDIA H100 80GB HBM3", "met"),
    ],
)
def test_gpu_names_match_by_word(wanted: str, name: str, state: str) -> None:
    assert state_of(demand(gpu=[wanted]), {"accelerators": [{"name": name, "count": 1}]}) == state
    assert state_of(demand(gpu=["V9000", wanted]), {"gpu_name": name}) == state
    assert state_of(demand(gpu=[wanted]), {"gpu": name}) == state


@pytest.mark.parametrize(
    ("requirements", "hardware", "state"),
    [
        pytest.param({"gpu": ["A100"]}, CPU_ONLY, "unmet", id="gpu-wanted-none-there"),
        pytest.param({"compute_capability": ">=7"}, CPU_ONLY, "unmet", id="capability-wanted-no-gpu-there"),
        pytest.param({"requires_gpu_memory_gb": 1}, CPU_ONLY, "unmet", id="memory-wanted-no-gpu-there"),
        pytest.param({"cuda": "12.1"}, CPU_ONLY, "unmet", id="null-was-looked-for-and-does-not-exist"),
        pytest.param({"cudnn": "8"}, CPU_ONLY, "unmet", id="cudnn-null"),
        pytest.param({"driver": "535"}, CPU_ONLY, "unmet", id="driver-null"),
        pytest.param({"gpu": ["A100"]}, {}, "unstated", id="gpu-not-stated"),
        pytest.param({"gpu": ["A100"]}, None, "unstated", id="nothing-stated"),
        pytest.param({"cuda": "12.1"}, {"accelerators": []}, "unstated", id="cuda-not-stated"),
        pytest.param({"requires_gpu_memory_gb": 1}, {"accelerators": [{"name": "x"}]}, "unstated", id="memory-silent"),
        pytest.param({"compute_capability": "8"}, {"cuda": "12.1"}, "unstated", id="capability-not-stated"),
        pytest.param({"driver": "535"}, {"cuda": "12.1"}, "unstated", id="driver-not-stated"),
        pytest.param({"cuda": "12.1"}, {"cuda": "12.1.105"}, "met", id="cuda-patch"),
        pytest.param({"cuda": "12.1"}, {"cuda": 12.1}, "met", id="cuda-as-a-number"),
        pytest.param({"cuda": "12.1"}, {"cuda": "12.4"}, "unmet", id="cuda-differs"),
        pytest.param({"cuda": ">=12.1 <13"}, {"cuda": "12.4"}, "met", id="cuda-range"),
        pytest.param({"cuda": "12.1"}, {"cuda": "twelve"}, "unmet", id="cuda-unreadable-is-not-absent"),
        pytest.param({"cuda": "12.1"}, {"cuda": {"a": 1}}, "unmet", id="cuda-of-another-kind"),
        pytest.param({"cudnn": "8.9.2"}, {"cudnn": "8.9.3"}, "unmet", id="cudnn-patch-differs"),
        pytest.param({"driver": ">=535.54"}, {"evidence": {"driver_version": "535.129.03"}}, "met", id="driver"),
        pytest.param({"driver": ">=535.54"}, {"driver": "470.1"}, "unmet", id="driver-of-a-small-worker"),
        pytest.param({"driver": "535"}, {"driver_branch": "535"}, "met", id="branch-is-exact-enough"),
        pytest.param({"driver": "535.54"}, {"driver_branch": "535"}, "unstated", id="branch-is-not-exact-enough"),
        pytest.param({"driver": "550"}, {"driver_branch": "535"}, "unmet", id="branch-differs"),
        pytest.param({"driver": "535"}, {"driver_branch": "R535", "evidence": 5}, "unmet", id="branch-unreadable"),
        pytest.param({"gpu": ["A100"]}, {"gpu_name": None}, "unmet", id="small-worker-without-gpu"),
        pytest.param({"gpu": ["A100"]}, {"gpu_name": "cpu", "gpu": "A100"}, "unmet", id="gpu-name-before-gpu"),
        pytest.param({"gpu": ["A100"]}, {"gpu": ["A100", "A100"]}, "met", id="list-of-names"),
        pytest.param(
            {"gpu": ["A100"]}, {"accelerators": [{"name": "A100"}, {"name": "A10"}]}, "unmet", id="one-of-two"
        ),
        pytest.param({"gpu": ["A100"]}, {"accelerators": [{"name": "A100"}, {}]}, "unstated", id="one-is-silent"),
        pytest.param(
            {"gpu": ["A100"]}, {"accelerators": [{"name": "A100"}, {"name": None}]}, "unmet", id="one-is-null"
        ),
        pytest.param({"gpu": ["A100"]}, {"accelerators": "A100"}, "unmet", id="accelerators-of-another-kind"),
        pytest.param({"gpu": ["A100"]}, {"accelerators": ["A100"]}, "unmet", id="accelerators-that-are-no-objects"),
        pytest.param({"compute_capability": "8"}, A100, "met", id="capability"),
        pytest.param({"compute_capability": ">=9"}, A100, "unmet", id="capability-too-low"),
        pytest.param({"requires_gpu_memory_gb": 40}, A100, "met", id="memory"),
        pytest.param({"requires_gpu_memory_gb": 80}, A100, "unmet", id="memory-too-small"),
        pytest.param({"requires_gpu_memory_gb": 80}, {"memory_mib": 81559}, "met", id="a-card-of-80-gb-is-not-80-gib"),
        pytest.param({"requires_gpu_memory_gb": 40}, {"memory_mib": [81920, 16384]}, "unmet", id="each-device-counts"),
        pytest.param({"requires_gpu_memory_gb": 40}, {"memory_mib": "plenty"}, "unmet", id="memory-unreadable"),
        pytest.param({"requires_gpu_memory_gb": 40}, {"memory_mib": "nan"}, "unmet", id="memory-not-a-number"),
    ],
)
def test_what_is_met_unmet_and_unstated(requirements: dict[str, Any], hardware: Any, state: str) -> None:
    assert state_of(demand(**requirements), hardware) == state


def test_every_contradiction_is_named_in_one_sentence_part() -> None:
    hardware = {**A100, "accelerators": [{"name": "NVIDIA A10", "compute_capability": "8.6"}], "cuda": "11.8"}

    assert unmet(EVERYTHING, hardware) == (
        'gpu A100 is required, and the worker states "NVIDIA A10"',
        'compute_capability 8.0 is required, and the worker states "8.6"',
        'cuda 12.1 is required, and the worker states "11.8"',
    )
    assert unmet(demand(gpu=["A100", "H100"]), CPU_ONLY) == (
        "gpu A100 or H100 is required, and the worker states none",
    )


def test_every_silence_is_named_too() -> None:
    assert unstated(EVERYTHING, {"accelerators": [{"name": "A100"}], "cuda": "12.1", "cudnn": "8.9.2"}) == (
        "compute_capability 8.0 is required, and the worker does not state it",
        "gpu memory of 40 GB is required, and the worker does not state it",
        "driver >=535 is required, and the worker does not state it",
    )
    assert len(unstated(EVERYTHING, None)) == 6


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from(_MEMBERS), _JSON))
def test_whatever_a_worker_states_gets_an_answer(hardware: dict[str, Any]) -> None:
    assert all(isinstance(part, str) for part in unmet(EVERYTHING, hardware) + unstated(EVERYTHING, hardware))
