from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import astuple
from pathlib import Path
from typing import Any

import pytest

from inference_dna.canonical import Json, Refused, canonical
from inference_dna.digest import hashed
from inference_dna.genome import Genome, digested_form, genome, parse_bind, parse_genome, parse_section, section_digest

DOCUMENT = json.loads((Path(__file__).parents[2] / "vectors" / "dna_vectors.json").read_text(encoding="utf-8"))
VECTORS = {vector["id"]: vector for vector in DOCUMENT["vectors"]}
TEXT = VECTORS["genome-03"]["in"]["text"]
VALUE = json.loads(TEXT)


def changed(section: str, member: str, value: Any) -> Genome:
    """The small genome with one member set, or removed with `...`."""
    document = deepcopy(VALUE)
    document[section][member] = value
    if value is ...:
        del document[section][member]
    return genome(document)


def test_a_genome_made_in_process_is_the_one_that_is_read() -> None:
    assert genome(VALUE) == parse_genome(TEXT)
    assert parse_genome(TEXT.encode()).digests.runtime == VECTORS["genome-03"]["out"]["runtime"]


def test_later_changes_do_not_reach_a_genome() -> None:
    document = deepcopy(VALUE)
    taken = genome(document)

    document["weights"]["files"].clear()

    assert taken == parse_genome(TEXT)


def test_five_section_digests_are_enough_to_recompute_the_rest() -> None:
    taken = parse_genome(TEXT)
    digests = taken.digests

    by_hand = (
        f'{{"bind":[],"format":"inference-dna/1","framework":"{digests.framework}","hardware":"{digests.hardware}",'
        f'"postprocess":"{digests.postprocess}","tokenizer":"{digests.tokenizer}","weights":"{digests.weights}"}}'
    )
    assert taken.canonical == by_hand
    assert digests.runtime == hashed("runtime", by_hand)
    assert digests.stack == hashed("stack", f"{digests.hardware}\n{digests.framework}\n")
    assert digests.artifact == hashed("artifact", f"{digests.weights}\n{digests.tokenizer}\n{digests.postprocess}\n")


def test_bind_is_read_and_enters_the_digest() -> None:
    taken = parse_genome(VECTORS["genome-12"]["in"]["text"])

    assert taken.bind == ("hardware.driver_version", "hardware.vbios")
    assert taken.digests.runtime != parse_genome(TEXT).digests.runtime


@pytest.mark.parametrize(
    ("section", "member", "value", "moved"),
    [
        pytest.param("weights", "load", {"dtype": "float16", "quantization": None}, "weights artifact", id="weights"),
        pytest.param("weights", "brand_new_fact", 1, "weights artifact", id="an-unknown-member-fails-closed"),
        pytest.param("tokenizer", "probe", None, "tokenizer artifact", id="tokenizer-did-not-probe"),
        pytest.param("postprocess", "values", {"threshold": 0.51}, "postprocess artifact", id="postprocess"),
        pytest.param("framework", "env", {"OMP_NUM_THREADS": ""}, "framework stack", id="framework"),
        pytest.param("hardware", "cudnn", "9.1.1", "hardware stack", id="hardware"),
        pytest.param("hardware", "evidence", {"driver_version": "1"}, "", id="evidence-moves-nothing"),
        pytest.param("hardware", "evidence", ..., "", id="evidence-may-be-missing"),
    ],
)
def test_one_changed_fact_moves_its_section_its_segment_and_the_runtime(
    section: str, member: str, value: Any, moved: str
) -> None:
    before, after = parse_genome(TEXT).digests, changed(section, member, value).digests

    names = ["weights", "tokenizer", "postprocess", "framework", "hardware", "stack", "artifact", "runtime"]
    differing = {name for name, a, b in zip(names, astuple(before), astuple(after), strict=True) if a != b}
    assert differing == ({*moved.split(), "runtime"} if moved else set())


@pytest.mark.parametrize(
    ("section", "member", "value", "why"),
    [
        pytest.param("weights", "kind", ..., "needs the member `kind`", id="weights-without-kind"),
        pytest.param("weights", "files", None, "needs the member `files`", id="weights-files-null"),
        pytest.param("weights", "files", [], "at least one file", id="weights-files-empty"),
        pytest.param("tokenizer", "kind", ..., "needs the member `kind`", id="tokenizer-without-kind"),
        pytest.param("tokenizer", "files", None, "list of file entries", id="tokenizer-files-null"),
        pytest.param("postprocess", "kind", None, "needs the member `kind`", id="postprocess-kind-null"),
        pytest.param("framework", "engine", ..., "needs the member `engine`", id="framework-without-engine"),
        pytest.param("hardware", "accelerators", ..., "needs the member `accelerators`", id="hardware-without-list"),
        pytest.param("hardware", "accelerators", "NVIDIA L4", "must be a list", id="accelerators-no-list"),
        pytest.param("hardware", "bound", {}, "reserved", id="bound"),
        pytest.param("hardware", "evidence", {"uuid": float("nan")}, "finite", id="evidence-obeys-the-rules-of-form"),
    ],
)
def test_sections_that_are_refused(section: str, member: str, value: Any, why: str) -> None:
    with pytest.raises(Refused, match=why):
        changed(section, member, value)


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (None, "must be an object"),
        ([], "must be an object"),
        ({}, "nothing but evidence"),
        ({"evidence": {"library": "x"}}, "nothing but evidence"),
    ],
)
def test_what_is_no_section(value: Any, why: str) -> None:
    with pytest.raises(Refused, match=why):
        parse_section("tokenizer", value)


def test_a_section_that_does_not_exist_is_refused() -> None:
    with pytest.raises(Refused, match="no section 'network'"):
        section_digest("network", {"mtu": 1500})


@pytest.mark.parametrize(
    "bind",
    [
        pytest.param(None, id="null"),
        pytest.param("hardware.vbios", id="text"),
        pytest.param([1], id="number"),
        pytest.param(["hardware"], id="no-member"),
        pytest.param(["hardware."], id="empty-member"),
        pytest.param([".vbios"], id="no-section"),
        pytest.param(["network.mtu"], id="unknown-section"),
        pytest.param(["hardware.vbios", "hardware.vbios"], id="twice"),
        pytest.param(["hardware.vbios", "hardware.uuid"], id="not-sorted"),
    ],
)
def test_bind_lists_that_are_refused(bind: Any) -> None:
    with pytest.raises(Refused, match="bind"):
        parse_bind(bind)


@pytest.mark.parametrize(
    "evidence",
    [{}, {"driver_version": None}, "535.129.03", None],
    ids=["not-measured", "null", "evidence-is-no-object", "no-evidence"],
)
def test_bound_evidence_must_have_been_measured(evidence: Any) -> None:
    section = {"accelerators": [], "evidence": evidence}

    with pytest.raises(Refused, match=r"hardware\.driver_version, which was not measured"):
        section_digest("hardware", section, ["hardware.driver_version"])


def test_bind_of_another_section_leaves_a_section_alone() -> None:
    section: Json = {"kind": "none", "evidence": {"a.b": 7}}

    assert digested_form("tokenizer", section, ["hardware.vbios"]) == {"kind": "none"}
    assert digested_form("tokenizer", section, ["tokenizer.a.b"]) == {"kind": "none", "bound": {"a.b": 7}}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[]", "JSON object"),
        (canonical(VALUE | {"format": "inference-dna/2"}), "not known"),
        (canonical(VALUE | {"format": None}), "not known"),
        (canonical(VALUE | {"extra": 1}), "unknown member 'extra'"),
        (canonical({name: VALUE[name] for name in VALUE if name != "hardware"}), "no section hardware"),
        (canonical(VALUE | {"bind": None}), "must be a list"),
    ],
)
def test_documents_that_are_refused(text: str, why: str) -> None:
    with pytest.raises(Refused, match=why):
        parse_genome(text)
