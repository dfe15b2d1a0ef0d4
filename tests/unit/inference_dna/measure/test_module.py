from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from inference_dna.canonical import Refused
from inference_dna.files import tensors_digest
from inference_dna.measure.folder import measure_folder
from inference_dna.measure.module import DTYPES, ModuleDigest, measure_module
from inference_dna.measure.work import Done, Work
from tests.support import smollm2

pytestmark = pytest.mark.models
torch: Any = pytest.importorskip("torch")


def net() -> Any:
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3), torch.nn.Linear(3, 2, bias=False))
    module.register_buffer("table", torch.arange(5), persistent=False)
    return module


def test_parameters_and_buffers_are_hashed_by_name() -> None:
    found = measure_module(net())

    assert [entry.name for entry in found.tensors] == sorted(net().state_dict())
    assert [(entry.name, entry.dtype, entry.shape) for entry in found.transient] == [("table", "I64", (5,))]
    assert found.devices == {"cpu": 9}
    assert found.dtypes == {"F32": 7, "I64": 2}
    assert ("1.num_batches_tracked", "I64", ()) in {(each.name, each.dtype, each.shape) for each in found.tensors}


def test_the_document_says_what_was_seen_and_where() -> None:
    found = measure_module(net())

    assert found.document() == {
        "tensors": "sha256:" + found.digest,
        "transient": "sha256:" + tensors_digest(found.transient),
        "count": 8,
        "dtypes": {"F32": 7, "I64": 2},
        "devices": {"cpu": 9},
    }
    assert measure_module(torch.nn.Linear(1, 1)).document()["transient"] is None


def test_equal_modules_are_equal_whatever_their_strides_and_threads() -> None:
    module = net()
    module[0].weight.data = module[0].weight.data.t().contiguous().t()

    assert measure_module(module, work=Work(1)) == measure_module(net(), work=Work(7))


def nudge(module: Any) -> None:
    with torch.no_grad():
        module[2].weight[1, 2] += 1e-7


def retype(module: Any) -> None:
    module[2].to(torch.float16)


def shift_buffer(module: Any) -> None:
    module[1].running_mean += 1


def shift_table(module: Any) -> None:
    module.table += 1


@pytest.mark.parametrize("change", [nudge, retype, shift_buffer, shift_table])
def test_anything_in_memory_that_changes_is_seen(change: Any) -> None:
    module = net()
    change(module)
    before, after = measure_module(net()), measure_module(module)

    assert (before.tensors, before.transient) != (after.tensors, after.transient)
    assert (before.digest == after.digest) == (change is shift_table)


def test_measuring_changes_nothing_and_keeps_training_possible() -> None:
    module = net()
    measure_module(module)

    assert all(parameter.requires_grad for parameter in module.parameters())
    assert measure_module(module) == measure_module(net())


def test_tied_tensors_stand_under_each_of_their_names() -> None:
    module = torch.nn.ModuleDict({"a": torch.nn.Linear(2, 2, bias=False), "b": torch.nn.Linear(2, 2, bias=False)})
    module["b"].weight = module["a"].weight
    first, second = measure_module(module).tensors

    assert (first.name, second.name) == ("a.weight", "b.weight")
    assert first.sha256 == second.sha256


@pytest.mark.parametrize("name", [name for name in DTYPES if name != "float8_e8m0fnu"])
def test_bytes_are_those_that_safetensors_writes(tmp_path: Path, name: str) -> None:
    save_file: Any = pytest.importorskip("safetensors.torch").save_file
    module = torch.nn.Module()
    module.register_buffer("x", torch.tensor([[0, 1, 2], [3, 1, 0]]).to(getattr(torch, name)))
    module.register_buffer("scalar", torch.tensor(1).to(getattr(torch, name)))
    module.register_buffer("none", torch.zeros(0, 3).to(getattr(torch, name)))
    save_file(module.state_dict(), tmp_path / "model.safetensors")

    assert measure_module(module).tensors == measure_folder(tmp_path, work=Work(tensors=True)).tensors


def test_progress_counts_the_bytes_in_memory() -> None:
    seen: list[Done] = []
    measure_module(torch.nn.Linear(10, 10), work=Work(watch=seen.append))

    assert seen[-1] == Done(440, 440, "tensors")


@pytest.mark.parametrize(
    ("tensor", "why"),
    [
        pytest.param(torch.empty(2, device="meta"), "on the device meta", id="meta"),
        pytest.param(torch.eye(2).to_sparse(), "a torch.sparse_coo tensor", id="sparse"),
        pytest.param(torch.ones(2, dtype=torch.complex128), "a torch.strided tensor of torch.complex128", id="dtype"),
    ],
)
def test_a_tensor_without_plain_bytes_is_refused(tensor: Any, why: str) -> None:
    module = torch.nn.Module()
    module.register_buffer("x", tensor)

    with pytest.raises(Refused, match=f"'x' is {why}"):
        measure_module(module)


def test_a_machine_that_writes_numbers_the_other_way_round_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "byteorder", "big")

    with pytest.raises(Refused, match="only be hashed on little-endian machines"):
        measure_module(torch.nn.Linear(1, 1))


@pytest.mark.slow
def test_a_real_model_in_memory_is_the_one_on_disk() -> None:
    """Loaded as saved, the module holds the tensors of its files; the tied output layer stands under two names."""
    from transformers import AutoModelForCausalLM

    folder = smollm2.model_folder()
    module = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16)
    on_disk = measure_folder(folder, work=Work(tensors=True)).tensors
    in_memory: ModuleDigest = measure_module(module)

    assert on_disk is not None
    assert set(on_disk) <= set(in_memory.tensors)
    assert {each.name for each in set(in_memory.tensors) - set(on_disk)} <= {"lm_head.weight"}
    with torch.no_grad():
        module.model.layers[3].mlp.up_proj.weight[0, 0] += 1
    assert measure_module(module).digest != in_memory.digest
