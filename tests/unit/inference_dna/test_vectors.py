"""Every vector of `dna_vectors.json` that is about what a worker is; the verdicts are tested beside `contracts`."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from inference_dna.canonical import Refused, canonical, parse_json
from inference_dna.dna import distance, frame, strand
from inference_dna.files import TensorEntry, files_digest, files_text, parse_files, tensors_digest
from inference_dna.genome import SECTIONS, digested_form, parse_genome, section_digest
from inference_dna.inputs import hash_bytes, hash_request, hash_tokens
from inference_dna.manifest import signed_bytes
from inference_dna.probe import ids_digest, texts_digest
from inference_dna.streams import strip_comments

DOCUMENT = json.loads((Path(__file__).parents[2] / "vectors" / "dna_vectors.json").read_text(encoding="utf-8"))
VECTORS = [vector for vector in DOCUMENT["vectors"] if vector["op"] != "verdict"]


def run_canonical(given: Mapping[str, Any]) -> dict[str, Any]:
    written = canonical(parse_json(raw(given)))
    assert canonical(parse_json(written)) == written, "C of an accepted text, read again, is the same text"
    return {"canonical": written, "sha256": hashlib.sha256(written.encode()).hexdigest()}


def run_files(given: Mapping[str, Any]) -> dict[str, Any]:
    entries = parse_files(given["files"])
    return {"text": files_text(entries), "digest": files_digest(entries)}


def run_tensors(given: Mapping[str, Any]) -> dict[str, Any]:
    entries = [TensorEntry(t["name"], t["dtype"], tuple(t["shape"]), t["sha256"]) for t in given["tensors"]]
    return {"digest": tensors_digest(entries)}


def run_section(given: Mapping[str, Any]) -> dict[str, Any]:
    section, bind = parse_json(given["text"]), given.get("bind", [])
    form = digested_form(given["name"], section, bind)
    return {"canonical": canonical(form), "digest": section_digest(given["name"], section, bind)}


def run_genome(given: Mapping[str, Any]) -> dict[str, Any]:
    digests = parse_genome(given["text"]).digests
    names = (*SECTIONS, "stack", "artifact", "runtime")
    return {name: getattr(digests, name) for name in names} | {"dna": digests.dna()}


def run_probe(given: Mapping[str, Any]) -> dict[str, Any]:
    return {"texts": texts_digest(given["texts"]), "ids": ids_digest(given["ids"])}


def run_dna(given: Mapping[str, Any]) -> dict[str, Any]:
    dna = parse_genome(given["text"]).digests.dna(given["input_hash"])
    return {"dna": dna, "frame": frame(dna).hex()}


def run_manifest(given: Mapping[str, Any]) -> dict[str, Any]:
    document = parse_json(given["text"])
    assert isinstance(document, dict)
    return {"sha256": hashlib.sha256(signed_bytes(document)).hexdigest()}


def raw(given: Mapping[str, Any]) -> str | bytes:
    return str(given["text"]) if "text" in given else base64.b64decode(given["b64"])


OPERATIONS: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "canonical": run_canonical,
    "files": run_files,
    "tensors": run_tensors,
    "section": run_section,
    "genome": run_genome,
    "probe": run_probe,
    "dna": run_dna,
    "manifest": run_manifest,
    "input_tokens": lambda given: {"input_hash": hash_tokens(given["ids"])},
    "input_request": lambda given: {"input_hash": hash_request(given["text"])},
    "input_bytes": lambda given: {"input_hash": hash_bytes(given["type"], base64.b64decode(given["b64"]))},
    "strand": lambda given: {"strand": strand(given["runtime"], given["input_hash"])},
    "distance": lambda given: {"distance": distance(given["a"], given["b"])},
    "sse_strip": lambda given: {"sha256": hashlib.sha256(strip_comments(given["text"].encode())).hexdigest()},
}


@pytest.mark.parametrize("vector", [pytest.param(v, id=v["id"]) for v in VECTORS if "out" in v])
def test_the_vector_gives_its_output(vector: dict[str, Any]) -> None:
    assert OPERATIONS[vector["op"]](vector["in"]) == vector["out"]


@pytest.mark.parametrize("vector", [pytest.param(v, id=v["id"]) for v in VECTORS if "error" in v])
def test_the_vector_is_refused(vector: dict[str, Any]) -> None:
    with pytest.raises(Refused, match=r"[.;] ?") as refusal:
        OPERATIONS[vector["op"]](vector["in"])

    assert str(refusal.value)[0].isupper() or str(refusal.value)[0] in "`'"


def test_no_vector_is_left_out() -> None:
    by_us = {vector["id"] for vector in VECTORS if "out" in vector or "error" in vector}
    by_contracts = {vector["id"] for vector in DOCUMENT["vectors"] if vector["op"] == "verdict"}

    assert len(by_us) + len(by_contracts) == len(DOCUMENT["vectors"]) == 153
