from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from inference_dna.genome import SECTIONS, Genome
from worker import ranking
from worker.bundle import Bundle, read_bundle, read_manifest
from worker.demo.recipes import BUNDLES, RECIPES, Recipe
from worker.engine import Engine, load_engine
from worker.measurement import artifact, measure


def measured(folder: Path, environ: dict[str, str] | None = None) -> Genome:
    bundle = read_bundle(folder)
    return measure(bundle, load_engine(bundle), {} if environ is None else environ)


def differing(first: Genome, second: Genome) -> set[str]:
    return {name for name in SECTIONS if getattr(first.digests, name) != getattr(second.digests, name)}


def test_the_same_bundle_measured_twice_is_the_same_runtime() -> None:
    assert measured(BUNDLES / "v2.4.0").digests == measured(BUNDLES / "v2.4.0").digests


def test_every_version_has_a_runtime_of_its_own() -> None:
    assert len({measured(BUNDLES / recipe.version).digests.runtime for recipe in RECIPES}) == len(RECIPES)


@pytest.mark.parametrize(
    ("name", "old", "new", "section"),
    [
        pytest.param("postprocess.json", '"temperature": 0.7', '"temperature": 0.8', "postprocess", id="temperature"),
        pytest.param("tokenizer.json", '{"version"', '{ "version"', "tokenizer", id="tokenizer-saved-again"),
        pytest.param("config.json", '"buckets": 0', '"buckets": 1', "weights", id="model-configuration"),
    ],
)
def test_a_changed_file_changes_its_section_alone(
    copied: Callable[..., Path], name: str, old: str, new: str, section: str
) -> None:
    folder = copied()
    before = measured(folder)
    path = folder / name
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")

    assert differing(before, measured(folder)) == {section}


def test_post_processing_reformatted_is_the_same_post_processing(copied: Callable[..., Path]) -> None:
    folder = copied()
    before = measured(folder)
    path = folder / "postprocess.json"
    path.write_text(path.read_text(encoding="utf-8").replace("\n", "\n\n"), encoding="utf-8")

    assert differing(before, measured(folder)) == set()


def test_an_environment_variable_that_shapes_computation_changes_the_framework_alone() -> None:
    plain, shaped = (measured(BUNDLES / "v2.3.1", environ) for environ in ({}, {"OMP_NUM_THREADS": "4"}))

    assert differing(plain, shaped) == {"framework"}


def test_an_environment_variable_that_does_not_is_not_even_recorded() -> None:
    plain, other = (measured(BUNDLES / "v2.3.1", environ) for environ in ({}, {"TEMPERATURE": "0.95", "A_TOKEN": "x"}))

    assert plain.document == other.document


def test_the_code_that_ranks_is_part_of_post_processing(bundle: Bundle, engine: Engine) -> None:
    source = sha256(Path(ranking.__file__).read_bytes()).hexdigest()

    assert measure(bundle, engine, {}).sections["postprocess"]["code"] == {"processors": [f"sha256:{source}"]}


def test_effective_values_decide_not_the_file(bundle: Bundle, engine: Engine) -> None:
    warmer = replace(engine, postprocess=replace(engine.postprocess, temperature=0.9))

    assert differing(measure(bundle, engine, {}), measure(bundle, warmer, {})) == {"postprocess"}


def test_the_packages_are_those_that_run(bundle: Bundle, engine: Engine) -> None:
    framework = measure(bundle, engine, dict(os.environ)).sections["framework"]

    assert framework["packages"].keys() == {"numpy", "onnxruntime", "tokenizers"}  # type: ignore[union-attr]


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.version)
def test_committed_manifests_are_true(recipe: Recipe) -> None:
    """Fails after a change of `ranking.py` or of a bundle: `python -m worker.demo.train` writes them anew."""
    folder = BUNDLES / recipe.version
    bundle, manifest = read_bundle(folder), read_manifest(folder)
    assert manifest is not None
    digests = measure(bundle, load_engine(bundle), {}).digests

    assert {name: getattr(digests, name) for name in manifest.digests} == manifest.digests


def test_the_artifact_alone_has_neither_framework_nor_hardware(bundle: Bundle, engine: Engine) -> None:
    assert artifact(bundle, engine).keys() == {"format", "bind", "weights", "tokenizer", "postprocess"}
