from __future__ import annotations

from dataclasses import replace

import pytest

from inference_dna.genome import GenomeDigests
from inference_dna.manifest import Manifest
from worker.bundle import read_manifest
from worker.demo.recipes import BUNDLES
from worker.identity import Nameless, claim, manifest_note


@pytest.fixture
def manifest() -> Manifest:
    read = read_manifest(BUNDLES / "v2.4.0")
    assert read is not None
    return read


@pytest.fixture
def measured(manifest: Manifest) -> GenomeDigests:
    """What a worker measures whose bundle is the manifest's."""
    stack = dict.fromkeys(("framework", "hardware", "stack", "runtime"), "0" * 64)
    return GenomeDigests(**manifest.digests, **stack)


def test_the_manifest_says_what_the_worker_is(manifest: Manifest) -> None:
    served = claim(manifest)

    assert (served.model_id, served.version) == ("intent-classifier", "v2.4.0")


@pytest.mark.parametrize(
    ("said", "version"),
    [
        pytest.param("v2.4.1", "v2.4.1", id="as-printed"),
        pytest.param("2.4.1", "v2.4.1", id="without-v"),
        pytest.param("v2.4.1-rc.1", "v2.4.1-rc.1", id="pre-release"),
        pytest.param("v2.3.9+hotfix-20240511", "v2.3.9+hotfix-20240511", id="build"),
    ],
)
def test_an_operator_may_claim_another_version(manifest: Manifest, said: str, version: str) -> None:
    assert claim(manifest, version=said).version == version


def test_without_a_manifest_everything_must_be_said() -> None:
    served = claim(None, model_id="m", version="v1.0.0")

    assert (served.model_id, served.version) == ("m", "v1.0.0")


@pytest.mark.parametrize(
    ("model_id", "version"),
    [
        pytest.param(None, None, id="nothing"),
        pytest.param("m", None, id="no-version"),
        pytest.param(None, "v1.0.0", id="no-model"),
        pytest.param("m", "v1", id="not-three-numbers"),
        pytest.param("m", "vv1.0.0", id="two-letters"),
        pytest.param("m", "v1.0.0-01", id="leading-zero-in-a-pre-release"),
        pytest.param("m", "v1.0.0\n", id="line-feed"),
        pytest.param("m", "v1.0.٣", id="a-digit-of-another-script"),
    ],
)
def test_a_worker_without_a_name_does_not_start(model_id: str | None, version: str | None) -> None:
    with pytest.raises(Nameless):
        claim(None, model_id=model_id, version=version)


def test_a_manifest_without_a_subject_names_nothing(manifest: Manifest) -> None:
    with pytest.raises(Nameless):
        claim(replace(manifest, subject=None))


def test_a_true_manifest_agrees(manifest: Manifest, measured: GenomeDigests) -> None:
    assert manifest_note(manifest, measured) == "agrees"


def test_a_manifest_that_is_not_true_names_the_sections(manifest: Manifest, measured: GenomeDigests) -> None:
    other = replace(measured, tokenizer="1" * 64, postprocess="2" * 64)

    assert manifest_note(manifest, other) == "differs: tokenizer, postprocess"


def test_no_manifest_is_said_so(measured: GenomeDigests) -> None:
    assert manifest_note(None, measured) == "none"
