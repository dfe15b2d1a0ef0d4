from __future__ import annotations

import importlib
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from inference_dna.canonical import Refused, canonical
from inference_dna.measure.pytorch.state import (
    batch_invariant,
    deterministic,
    flags,
    numeric_environment,
    precision,
    threads,
)

pytestmark = pytest.mark.models


@pytest.fixture
def torch() -> Iterator[Any]:
    """The real library; every setting a test changes is put back."""
    torch: Any = importlib.import_module("torch")
    kept = torch.get_float32_matmul_precision()
    yield torch
    torch.backends.cuda.matmul.fp32_precision = "none"
    torch.backends.mkldnn.matmul.fp32_precision = "none"
    torch.set_float32_matmul_precision(kept)
    torch.use_deterministic_algorithms(False)
    torch.backends.cudnn.benchmark = False
    torch.backends.cuda.enable_flash_sdp(True)
    torch.set_default_dtype(torch.float32)


def test_the_values_are_plain_and_the_same_twice(torch: Any) -> None:
    assert canonical(flags(torch, {})) == canonical(flags(torch, {}))


@pytest.mark.parametrize("setting", ["old-name", "new-name"])
def test_tf32_is_seen_however_it_was_switched_on(torch: Any, setting: str) -> None:
    before = precision(torch)
    if setting == "old-name":
        torch.set_float32_matmul_precision("high")
    else:
        torch.backends.cuda.matmul.fp32_precision = "tf32"

    assert before["matmul"] == "ieee"
    assert precision(torch)["matmul"] == "tf32"


def test_a_setting_for_everything_holds_where_nothing_nearer_is_set(torch: Any) -> None:
    torch.backends.mkldnn.fp32_precision = "bf16"
    try:
        told = precision(torch)
    finally:
        torch.backends.mkldnn.fp32_precision = "none"

    assert (told["onednn_conv"], told["matmul"]) == ("bf16", "ieee")


def test_a_library_before_the_new_names_is_read_by_the_old() -> None:
    matmul, cudnn = SimpleNamespace(allow_tf32=True), SimpleNamespace(allow_tf32=False)
    older = SimpleNamespace(backends=SimpleNamespace(cuda=SimpleNamespace(matmul=matmul), cudnn=cudnn, mkldnn=None))

    assert precision(older) == {"matmul": "tf32", "cudnn_conv": "ieee"}


def test_mixed_settings_are_refused() -> None:
    class Mixed:
        @property
        def allow_tf32(self) -> bool:
            raise RuntimeError("mix of the legacy and new APIs")

    older = SimpleNamespace(
        backends=SimpleNamespace(cuda=SimpleNamespace(matmul=Mixed()), cudnn=SimpleNamespace(), mkldnn=None)
    )

    with pytest.raises(Refused, match="cannot tell its float32 precision"):
        precision(older)


def test_every_switch_moves_its_flag(torch: Any) -> None:
    before = canonical(flags(torch, {}))
    torch.backends.cudnn.benchmark = True
    benchmark = canonical(flags(torch, {}))
    torch.backends.cuda.enable_flash_sdp(False)
    flash = canonical(flags(torch, {}))
    torch.set_default_dtype(torch.bfloat16)
    dtype = canonical(flags(torch, {}))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        autocast = flags(torch, {})

    assert len({before, benchmark, flash, dtype, canonical(autocast)}) == 5
    assert autocast["autocast"] == {"cpu": "bfloat16", "cuda": None}


def test_determinism_is_what_is_promised(torch: Any) -> None:
    assert deterministic(torch, {}) == {
        "torch": False, "warn_only": False, "cudnn": False, "onednn": False, "batch_invariant": False,
    }  # fmt: skip
    torch.use_deterministic_algorithms(True, warn_only=True)

    assert deterministic(torch, {})["torch"] is True
    assert deterministic(torch, {})["warn_only"] is True


@pytest.mark.parametrize("on", [True, False])
def test_batch_invariance_is_asked_of_the_module_that_gives_it(on: bool) -> None:
    module = SimpleNamespace(is_batch_invariant_mode_enabled=lambda: on)

    assert batch_invariant({"batch_invariant_ops": module}) is on
    assert batch_invariant({}) is False


def test_a_module_that_does_not_say_is_refused() -> None:
    with pytest.raises(Refused, match="does not say whether its kernels are in use"):
        batch_invariant({"batch_invariant_ops": SimpleNamespace()})


def test_threads_are_read_back(torch: Any) -> None:
    kept = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        assert threads(torch)["intra_op_threads"] == 1
    finally:
        torch.set_num_threads(kept)


def test_further_variables_that_change_arithmetic() -> None:
    environ = {"ONEDNN_MAX_CPU_ISA": "AVX2", "ATEN_CPU_CAPABILITY": "default", "PATH": "/bin", "OMP_NUM_THREADS": "1"}

    assert numeric_environment(environ) == {"ATEN_CPU_CAPABILITY": "default", "ONEDNN_MAX_CPU_ISA": "AVX2"}
