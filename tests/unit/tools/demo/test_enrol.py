from dataclasses import replace
from typing import Any

import pytest

from inference_dna.assurance import Assurance
from inference_dna.canonical import canonical
from inference_dna.genome import genome
from inference_dna.manifest import Manifest, Subject, build_manifest, parse_manifest
from tools.demo.enrol import FINGERPRINTS, EnrolmentRefused, accepted_entry

ARTIFACT: dict[str, Any] = {
    "weights": {"kind": "file", "files": [{"name": "model.onnx", "size": 3, "sha256": "ab" * 32}]},
    "tokenizer": {"kind": "none"},
    "postprocess": {"kind": "embedded"},
}
STACK: dict[str, Any] = {
    "framework": {"engine": {"name": "onnxruntime", "version": "1"}},
    "hardware": {"accelerators": [], "cpu": {"arch": "x86_64", "isa": []}},
}
FORMAT = "inference-dna/1"


def manifest(version: str = "v2.4.0", **sections: Any) -> Manifest:
    document = build_manifest(
        {"format": FORMAT, **ARTIFACT, **sections},
        subject=Subject("intent-classifier", version),
        created_at="2025-01-31T12:00:00Z",
        assurance=Assurance.FULL_HASH,
    )
    return parse_manifest(canonical(document))


def healthz(**sections: Any) -> dict[str, Any]:
    digests = genome({"format": FORMAT, "bind": [], **ARTIFACT, **STACK, **sections}).digests
    fingerprints = {member: f"sha256:{getattr(digests, section)}" for section, member in FINGERPRINTS.items()}
    return {"dna": digests.dna(), "digest": f"sha256:{digests.runtime}", **fingerprints}


def enrol(stated: dict[str, Any], of: Manifest, version: str = "v2.4.0") -> dict[str, str]:
    return accepted_entry(stated, of, version=version, label="here")


def test_an_honest_worker_enrols_with_the_runtime_it_measured() -> None:
    stated = healthz()

    assert enrol(stated, manifest()) == {"dna": stated["dna"], "digest": stated["digest"], "label": "here"}


def test_a_worker_with_another_tokenizer_is_refused_and_the_section_named() -> None:
    with pytest.raises(EnrolmentRefused, match=r"these sections differ: tokenizer\.$"):
        enrol(healthz(tokenizer={"kind": "none", "settings": {"lowercase": True}}), manifest())


def test_another_stack_is_no_reason_to_refuse() -> None:
    other = healthz(hardware={"accelerators": [], "cpu": {"arch": "aarch64", "isa": []}})

    assert enrol(other, manifest())["digest"] == other["digest"] != healthz()["digest"]


def test_the_manifest_must_be_of_the_version() -> None:
    with pytest.raises(EnrolmentRefused, match=r"not of v2\.4\.0"):
        enrol(healthz(), manifest("v2.3.1"))
    with pytest.raises(EnrolmentRefused, match="The manifest is of None"):
        enrol(healthz(), replace(manifest(), subject=None))


@pytest.mark.parametrize("member", ["dna", "digest"])
def test_a_statement_that_does_not_follow_from_the_sections_is_refused(member: str) -> None:
    lie = healthz(weights={"kind": "file", "files": [{"name": "m", "size": 1, "sha256": "cd" * 32}]})[member]

    with pytest.raises(EnrolmentRefused, match="from its section digests follow"):
        enrol(healthz() | {member: lie}, manifest())


@pytest.mark.parametrize("member", ["dna", "digest", *FINGERPRINTS.values()])
def test_what_is_missing_or_malformed_is_refused(member: str) -> None:
    with pytest.raises(EnrolmentRefused, match=f"has no {member}"):
        enrol({name: value for name, value in healthz().items() if name != member}, manifest())
    with pytest.raises(EnrolmentRefused):
        enrol(healthz() | {member: "nonsense"}, manifest())
