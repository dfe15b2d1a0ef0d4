from __future__ import annotations

import json
from pathlib import Path

import pytest

from inference_dna.canonical import Refused
from inference_dna.files import files_digest
from inference_dna.genome import section_digest
from inference_dna.measure.adapters import measure_adapter
from inference_dna.measure.folder import measure_folder, weights_section
from tests.support.weights import safetensors

BASE = ["model.embed_tokens.weight", "model.layers.0.self_attn.q_proj.weight", "model.layers.0.mlp.up_proj.weight"]
Q_PROJ = "base_model.model.model.layers.0.self_attn.q_proj"
LORA = {f"{Q_PROJ}.lora_A.weight": b"abcd", f"{Q_PROJ}.lora_B.weight": b"efgh"}


def adapter(folder: Path, tensors: dict[str, bytes] | None = None, base: object = "org/base") -> Path:
    folder.mkdir()
    config = {"peft_type": "LORA"} | ({} if base is None else {"base_model_name_or_path": base})
    (folder / "adapter_config.json").write_text(json.dumps(config), encoding="utf-8")
    (folder / "adapter_model.safetensors").write_bytes(safetensors(LORA if tensors is None else tensors))
    return folder


def test_an_adapter_is_its_files(tmp_path: Path) -> None:
    folder = adapter(tmp_path / "a")
    found = measure_adapter("tuned", folder, bases=["org/base", "/models/base"], base_tensors=BASE)

    assert (found.name, found.base, found.unmatched) == ("tuned", "org/base", ())
    assert found.digest == files_digest(measure_folder(folder).weights)


def test_a_new_adapter_under_an_old_name_is_another_genome(tmp_path: Path) -> None:
    model = tmp_path / "model"
    model.mkdir()
    (model / "model.safetensors").write_bytes(safetensors({"w": b"abc"}))
    base = measure_folder(model)
    folders = [adapter(tmp_path / "a"), adapter(tmp_path / "b", {**LORA, f"{Q_PROJ}.lora_B.weight": b"efgH"})]
    sections = [
        weights_section(
            base, format_name="safetensors", load={}, adapters={"tuned": measure_adapter("tuned", folder).digest}
        )
        for folder in folders
    ]

    assert [section["adapters"] for section in sections] != [[], []]
    assert section_digest("weights", sections[0]) != section_digest("weights", sections[1])


def test_adapters_stand_in_the_order_of_their_names(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(safetensors({"w": b"abc"}))
    section = weights_section(
        measure_folder(tmp_path), format_name="safetensors", load={}, adapters={"b": "1" * 64, "a": "2" * 64}
    )

    assert section["adapters"] == [
        {"name": "a", "digest": "sha256:" + "2" * 64},
        {"name": "b", "digest": "sha256:" + "1" * 64},
    ]


def test_an_adapter_for_another_base_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="was made for 'org/base', not for 'org/other'"):
        measure_adapter("tuned", adapter(tmp_path / "a"), bases=["org/other"])


@pytest.mark.parametrize("base", [None, ""])
def test_an_adapter_that_names_no_base_is_judged_by_its_keys(tmp_path: Path, base: object) -> None:
    assert measure_adapter("tuned", adapter(tmp_path / "a", base=base), bases=["org/other"]).base is None


def test_a_base_that_is_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="no text"):
        measure_adapter("tuned", adapter(tmp_path / "a", base=3))


def test_an_adapter_that_changes_nothing_is_refused(tmp_path: Path) -> None:
    """Wrong prefixes load without a word, and the model silently equals the base."""
    wrong = {f"language_model.{name}": data for name, data in LORA.items()}

    with pytest.raises(Refused, match=r"is inert: the base has none .*q_proj"):
        measure_adapter("tuned", adapter(tmp_path / "a", wrong), base_tensors=BASE)


def test_what_does_not_match_is_told(tmp_path: Path) -> None:
    some = {**LORA, "base_model.model.model.layers.9.mlp.up_proj.lora_A.weight": b"x"}
    found = measure_adapter("tuned", adapter(tmp_path / "a", some), base_tensors=BASE)

    assert found.unmatched == ("model.layers.9.mlp.up_proj",)


@pytest.mark.parametrize(
    "tensor",
    [
        pytest.param("base_model.model.model.layers.0.mlp.up_proj.ia3_l", id="ia3"),
        pytest.param("base_model.model.model.embed_tokens.lora_embedding_A", id="embedding"),
        pytest.param("base_model.model.model.embed_tokens.weight", id="a-module-saved-whole"),
        pytest.param("base_model.model.transformer.h.0.attn.c_attn.lora_A.weight", id="prefix-that-files-lack"),
    ],
)
def test_how_adapters_name_what_they_change(tmp_path: Path, tensor: str) -> None:
    base = [*BASE, "h.0.attn.c_attn.weight"]

    assert measure_adapter("t", adapter(tmp_path / "a", {tensor: b"x"}), base_tensors=base).unmatched == ()


def test_a_folder_that_is_no_adapter_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(safetensors({"w": b"abc"}))

    with pytest.raises(Refused, match=r"no file 'adapter_config\.json'"):
        measure_adapter("tuned", tmp_path)
