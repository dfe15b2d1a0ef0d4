from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from inference_dna.manifest import Subject
from worker.bundle import read_bundle, read_manifest
from worker.demo.building import build, certify
from worker.demo.dataset import intents, read_dataset
from worker.demo.recipes import recipe
from worker.engine import load_engine
from worker.measurement import measure

# A few merges and rows are enough to see that the parts fit together.
SMALL = replace(recipe("v2.4.0"), version="v0.0.1", vocabulary=900, buckets=256, lines=("2.3",))
MESSAGES = read_dataset()


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_bundle_that_was_built_is_served_and_its_manifest_is_true(tmp_path: Path) -> None:
    build(SMALL, MESSAGES, tmp_path)
    bundle, manifest = read_bundle(tmp_path), read_manifest(tmp_path)
    engine = load_engine(bundle)

    assert bundle.labels == intents(MESSAGES)
    assert engine.infer("我要退款").answer.intent == "refund"
    assert manifest is not None
    assert manifest.subject == Subject("intent-classifier", "v0.0.1")
    assert manifest.unmeasured == ("framework", "hardware")
    assert manifest.digests["artifact"] == measure(bundle, engine, {}).digests.artifact


def test_building_twice_in_one_place_gives_the_same_bytes(tmp_path: Path) -> None:
    build(SMALL, MESSAGES, tmp_path)
    first = contents(tmp_path)
    build(SMALL, MESSAGES, tmp_path)

    assert contents(tmp_path) == first


def test_a_manifest_can_be_written_anew_alone(tmp_path: Path) -> None:
    build(SMALL, MESSAGES, tmp_path)
    first = contents(tmp_path)
    certify(tmp_path, Subject("intent-classifier", SMALL.version), created_at=SMALL.released)

    assert contents(tmp_path) == first
