from __future__ import annotations

import json
from pathlib import Path

import pytest

from inference_dna.canonical import Refused
from inference_dna.report import digest_report

DOCUMENT = json.loads((Path(__file__).parents[2] / "vectors" / "dna_vectors.json").read_text(encoding="utf-8"))
VECTORS = {vector["id"]: vector for vector in DOCUMENT["vectors"]}
GENOME = VECTORS["genome-01"]["in"]["text"]
DIGESTS = ["weights", "tokenizer", "postprocess", "framework", "hardware", "stack", "artifact", "runtime"]


def test_the_report_names_every_digest_and_the_dna() -> None:
    expected = VECTORS["genome-01"]["out"]

    report = digest_report(GENOME)

    assert list(report) == [*DIGESTS, "dna"]
    assert report == {name: expected[name] for name in DIGESTS} | {"dna": expected["dna"]}


def test_an_input_hash_moves_the_strand_alone() -> None:
    given, expected = VECTORS["dna-02"]["in"], VECTORS["dna-02"]["out"]

    report = digest_report(given["text"].encode(), given["input_hash"])

    assert report["dna"] == expected["dna"]
    assert report["runtime"] == digest_report(GENOME)["runtime"]


@pytest.mark.parametrize(("text", "input_hash"), [("{}", ""), ("{", ""), (GENOME, "2e67a18651ba")])
def test_what_is_refused_is_said_in_a_sentence(text: str, input_hash: str) -> None:
    with pytest.raises(Refused, match=r"\.$"):
        digest_report(text, input_hash)
