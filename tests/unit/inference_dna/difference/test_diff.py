from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from inference_dna.difference.change import Change, How, Kind
from inference_dna.difference.diff import Difference, compare
from inference_dna.difference.tensor_changes import tensor_list
from inference_dna.difference.text import difference_document, difference_lines
from inference_dna.files import TensorEntry, tensors_digest
from inference_dna.manifest import Subject
from inference_dna.probe import PROBE_CHAT
from tests.support.manifests import FILES, artifact_of, genome_of, manifest_of, with_value

GENOME = genome_of()


def between(before: Mapping[str, Any], after: Mapping[str, Any]) -> Difference:
    return compare(manifest_of(before), manifest_of(after))


def changes(difference: Difference) -> list[tuple[str, Kind, How, str]]:
    return [
        (section.section, change.kind, change.how, change.name)
        for section in difference.differing
        for change in section.changes
    ]


def lines(difference: Difference) -> str:
    return "\n".join(difference_lines(difference))


def test_the_same_manifest_differs_in_nothing() -> None:
    difference = between(GENOME, genome_of())

    assert difference.is_equal
    assert difference.differing == ()
    assert lines(difference) == "equal        weights, tokenizer, postprocess, framework, hardware"


@pytest.mark.parametrize(
    ("path", "value", "change", "told"),
    [
        pytest.param(
            "postprocess.values.temperature",
            0.95,
            ("postprocess", Kind.SETTING, How.CHANGED, "values.temperature"),
            "setting  values.temperature 0.7 -> 0.95",
            id="a-setting",
        ),
        pytest.param(
            "postprocess.values.top_k",
            ...,
            ("postprocess", Kind.SETTING, How.REMOVED, "values.top_k"),
            "setting  values.top_k removed, was 50",
            id="a-setting-that-went",
        ),
        pytest.param(
            "postprocess.values.do_sample",
            1,
            ("postprocess", Kind.SETTING, How.CHANGED, "values.do_sample"),
            "setting  values.do_sample true -> 1",
            id="true-is-not-one",
        ),
        pytest.param(
            "postprocess.code.processors",
            ["sha256:" + "4" * 64],
            ("postprocess", Kind.SETTING, How.CHANGED, "code.processors"),
            "code.processors",
            id="the-source-of-a-processor",
        ),
        pytest.param(
            "framework.packages.torch",
            "2.3.0+cu121",
            ("framework", Kind.VERSION, How.CHANGED, "packages.torch"),
            'version  packages.torch "2.2.0+cu121" -> "2.3.0+cu121"',
            id="a-package",
        ),
        pytest.param(
            "framework.env.CUBLAS_WORKSPACE_CONFIG",
            ":4096:8",
            ("framework", Kind.SETTING, How.ADDED, "env.CUBLAS_WORKSPACE_CONFIG"),
            'setting  env.CUBLAS_WORKSPACE_CONFIG added: ":4096:8"',
            id="a-variable",
        ),
        pytest.param(
            "hardware.cudnn",
            "8.9.7",
            ("hardware", Kind.VERSION, How.CHANGED, "cudnn"),
            'version  cudnn "8.9.2" -> "8.9.7"',
            id="cudnn",
        ),
        pytest.param(
            "hardware.accelerators",
            [{"name": "NVIDIA A10", "count": 1, "compute_capability": "8.6"}],
            ("hardware", Kind.SETTING, How.CHANGED, "accelerators"),
            "another machine",
            id="another-gpu",
        ),
        pytest.param(
            "weights.load.dtype",
            "bfloat16",
            ("weights", Kind.SETTING, How.CHANGED, "load.dtype"),
            'setting  load.dtype "float16" -> "bfloat16"',
            id="loaded-otherwise",
        ),
    ],
)
def test_one_change_is_named_with_its_section(
    path: str, value: Any, change: tuple[str, Kind, How, str], told: str
) -> None:
    difference = between(GENOME, with_value(GENOME, path, value))

    assert changes(difference) == [change]
    assert [section.section for section in difference.sections if not section.is_equal] == [change[0]]
    assert told in lines(difference)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param({"config.json": b"{}"}, [("config.json", How.CHANGED)], id="changed"),
        pytest.param({"modeling_x.py": b"x"}, [("modeling_x.py", How.ADDED)], id="added"),
        pytest.param({"model.bin.weights": None}, [("model.bin.weights", How.REMOVED)], id="removed"),
        pytest.param(
            {"model.bin.weights": None, "other.weights": FILES["model.bin.weights"]},
            [("model.bin.weights", How.RENAMED)],
            id="renamed",
        ),
        pytest.param(
            {"config.json": FILES["model.bin.weights"], "model.bin.weights": FILES["config.json"]},
            [("config.json", How.CHANGED), ("model.bin.weights", How.CHANGED)],
            id="swapped",
        ),
    ],
)
def test_files_of_the_weights(files: Mapping[str, bytes | None], expected: list[tuple[str, How]]) -> None:
    after = {name: content for name, content in {**FILES, **files}.items() if content is not None}
    difference = between(GENOME, genome_of(after))

    assert changes(difference) == [("weights", Kind.FILE, how, name) for name, how in expected]


def test_swapped_files_are_told_as_such() -> None:
    swapped = {**FILES, "config.json": FILES["model.bin.weights"], "model.bin.weights": FILES["config.json"]}

    assert "it now holds what was model.bin.weights" in lines(between(GENOME, genome_of(swapped)))


@pytest.mark.parametrize(
    ("tensors", "how"), [("sha256:" + "5" * 64, How.REPACKAGED), ("sha256:" + "6" * 64, How.CHANGED)]
)
def test_equal_tensors_in_other_files_are_repackaged_and_still_differ(tensors: str, how: How) -> None:
    before = with_value(GENOME, "weights.evidence.tensors", "sha256:" + "5" * 64)
    after = with_value(genome_of({**FILES, "config.json": b"{ }"}), "weights.evidence.tensors", tensors)
    difference = between(before, after)
    (section,) = difference.differing

    assert not difference.is_equal
    assert section.is_repackaged is (how is How.REPACKAGED)
    assert ("weights", Kind.TENSORS, how, "tensors") in changes(difference)
    assert ("packed anew" in lines(difference)) is (how is How.REPACKAGED)


def with_tensors(files: Mapping[str, bytes], *tensors: TensorEntry) -> dict[str, Any]:
    genome = with_value(genome_of(files), "weights.evidence.tensors", f"sha256:{tensors_digest(tensors)}")
    return with_value(genome, "weights.evidence.tensor_list", tensor_list(tensors))


ONE, TWO = TensorEntry("a.weight", "BF16", (2, 3), "1" * 64), TensorEntry("b.weight", "F32", (), "2" * 64)
TWO_CHANGED, THREE = replace(TWO, sha256="3" * 64), TensorEntry("c.weight", "F32", (), "2" * 64)


def test_tensors_that_were_listed_are_named() -> None:
    before = with_tensors(FILES, ONE, TWO)
    difference = between(before, with_tensors({**FILES, "config.json": b"{ }"}, TWO_CHANGED, THREE))

    assert changes(difference)[1:] == [
        ("weights", Kind.TENSORS, How.REMOVED, "a.weight"),
        ("weights", Kind.TENSORS, How.CHANGED, "b.weight"),
        ("weights", Kind.TENSORS, How.ADDED, "c.weight"),
    ]
    assert 'b.weight "F32 [] 222222222222" -> "F32 [] 333333333333"' in lines(difference)


@pytest.mark.parametrize("edited", [None, [], [7], [{"name": "a.weight"}], tensor_list([THREE])])
def test_a_list_that_is_not_what_the_digest_covers_is_not_believed(edited: Any) -> None:
    before = with_tensors(FILES, ONE)
    after = with_value(with_tensors({**FILES, "config.json": b"{ }"}, TWO), "weights.evidence.tensor_list", edited)

    assert "which ones was not recorded" in lines(between(before, after))


def test_tensors_that_only_one_side_took_explain_nothing() -> None:
    before = with_value(GENOME, "weights.evidence.tensors", "sha256:" + "5" * 64)

    assert between(before, GENOME).is_equal
    assert changes(between(before, genome_of({**FILES, "config.json": b"{ }"}))) == [
        ("weights", Kind.FILE, How.CHANGED, "config.json")
    ]


def test_a_tokenizer_that_answers_otherwise_with_the_same_files() -> None:
    after = with_value(GENOME, "tokenizer.probe.ids", "9" * 64)
    difference = between(GENOME, after)

    assert changes(difference) == [("tokenizer", Kind.TOKENS, How.CHANGED, "probe.ids")]
    assert "the ids themselves were not recorded" in lines(difference)
    assert "other tokens" in lines(difference)


def test_a_tokenizer_that_was_not_asked_is_another() -> None:
    difference = between(GENOME, with_value(GENOME, "tokenizer.probe", None))

    assert changes(difference) == [("tokenizer", Kind.TOKENS, How.CHANGED, "probe")]
    assert "only one of the two tokenizers was asked" in lines(difference)


def test_evidence_is_told_apart_and_decides_nothing() -> None:
    difference = between(GENOME, with_value(GENOME, "hardware.evidence.driver_version", "535.161.07"))

    assert difference.is_equal
    assert "hardware     evidence" not in lines(difference)
    assert 'hardware     driver_version "535.129.03" -> "535.161.07"' in lines(difference)
    assert "decides nothing" in lines(difference)


def test_a_binding_that_differs_is_a_difference() -> None:
    bound = with_value(GENOME, "bind", ["hardware.driver_version"])
    difference = between(GENOME, bound)

    assert not difference.is_equal
    assert [change.name for change in difference.bind] == ["bind"]
    assert [section.section for section in difference.differing] == ["hardware"]


def test_names_are_told_and_are_no_part_of_the_runtime() -> None:
    difference = compare(manifest_of(), manifest_of(subject=Subject("bert-base-chinese", "v2.4.1")))

    assert difference.is_equal
    assert lines(difference).startswith('name         version "v2.4.0" -> "v2.4.1"')
    assert compare(manifest_of(subject=None), manifest_of()).subject != ()


def test_sections_that_one_side_did_not_measure_are_not_equal() -> None:
    difference = between(artifact_of(GENOME), GENOME)

    assert [section.section for section in difference.differing] == ["framework", "hardware"]
    assert "one side did not measure it" in lines(difference)
    assert "not measured -> sha256:" in lines(difference)
    both = between(artifact_of(GENOME), artifact_of(GENOME))
    assert both.is_equal
    assert lines(both).splitlines()[-1] == "not measured framework, hardware"


def test_json_says_what_the_lines_say() -> None:
    document = difference_document(between(GENOME, with_value(GENOME, "hardware.cudnn", "8.9.7")))
    sections: Any = document["sections"]
    hardware = sections[-1]

    assert document["equal"] is False
    assert [section["section"] for section in sections if not section["equal"]] == ["hardware"]
    assert hardware["before"].startswith("sha256:")
    assert hardware["changes"] == [
        {
            "kind": "version",
            "how": "changed",
            "name": "cudnn",
            "before": "8.9.2",
            "after": "8.9.7",
            "detail": "",
        }
    ]
    unmeasured: Any = difference_document(between(artifact_of(GENOME), GENOME))["sections"]
    assert unmeasured[-1]["before"] is None


def recorded(ids: Mapping[str, list[int]], chat: list[int] | None = None) -> dict[str, Any]:
    """The genome with a tokenizer section whose probe gave these ids for single texts, and one id for all others."""
    from inference_dna.measure.tokenizer import probe, tokenizer_section

    answers = probe(
        lambda text: ids.get(text, [7]),
        special_tokens={},
        render_chat=None if chat is None else lambda conversation: chat if conversation == PROBE_CHAT else [],
    )
    section = tokenizer_section([], answers, kind="huggingface-fast", settings={})
    return {**GENOME, "tokenizer": {name: value for name, value in section.items() if name != "files"}}


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        pytest.param(
            recorded({"0123456789": [4, 5]}),
            recorded({"0123456789": [4, 6]}),
            'text "0123456789", place 1: id 5 -> id 6',
            id="another-id",
        ),
        pytest.param(recorded({"a": [4]}), recorded({"a": [4, 4]}), 'text "a", place 1: no id -> id 4', id="one-more"),
        pytest.param(
            recorded({}, [1, 2]), recorded({}, [1, 1, 2]), "place 1: id 2 -> id 1", id="doubled-begin-in-chat"
        ),
        pytest.param(recorded({}, [1]), recorded({}), "only one of the two renders conversations", id="no-chat"),
    ],
)
def test_recorded_ids_name_the_first_text_that_parts(before: Any, after: Any, told: str) -> None:
    assert told in lines(between(before, after))


def test_long_values_are_cut() -> None:
    change = Change(Kind.SETTING, How.CHANGED, "stop", before="x" * 500, after="y")

    assert len(change.sentence()) < 100
    assert change.sentence().endswith('… -> "y"')


def test_a_name_cannot_write_lines_of_its_own() -> None:
    name = "x\nequal        weights\x1b[31m\u202e\x7f.bin"
    told = lines(between(GENOME, genome_of({**FILES, name: b"x"})))

    assert "file     x\\nequal        weights\\x1b[31m\\u202e\\x7f.bin added" in told.splitlines()[2]
    assert not any(line.startswith("equal        weights") for line in told.splitlines())


def test_names_in_any_script_are_shown_as_they_are() -> None:
    assert "权重 é.bin added" in lines(between(GENOME, genome_of({**FILES, "权重 é.bin": b"x"})))
