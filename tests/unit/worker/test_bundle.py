from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from worker.bundle import Bundle, BundleRefused, read_bundle, read_manifest
from worker.demo.recipes import BUNDLES


def test_the_bytes_that_are_loaded_are_those_that_were_hashed(bundle: Bundle) -> None:
    hashes = {entry.name: entry.sha256 for entry in (*bundle.folder.weights, *bundle.folder.tokenizer)}

    assert sha256(bundle.model).hexdigest() == hashes["model.onnx"]
    assert sha256(bundle.tokenizer).hexdigest() == hashes["tokenizer.json"]


def test_post_processing_is_no_weight_file(bundle: Bundle) -> None:
    assert "postprocess.json" not in [entry.name for entry in bundle.folder.weights]
    assert bundle.folder.exclude == ("postprocess.json",)
    assert bundle.postprocess_file.name == "postprocess.json"


@pytest.mark.parametrize("name", ["model.onnx", "config.json", "tokenizer.json", "postprocess.json"])
def test_a_missing_file_is_named(copied: Callable[..., Path], name: str) -> None:
    folder = copied()
    (folder / name).unlink()

    with pytest.raises(BundleRefused, match=name):
        read_bundle(folder)


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        pytest.param("config_json", "{", "no JSON", id="config-is-no-json"),
        pytest.param("config_json", "[]", "no JSON object", id="config-is-no-object"),
        pytest.param("config_json", '{"labels": []}', "labels", id="no-label"),
        pytest.param("config_json", '{"labels": ["a", "a"]}', "labels", id="a-label-twice"),
        pytest.param("config_json", '{"labels": ["a", 1]}', "labels", id="a-label-that-is-no-text"),
        pytest.param("postprocess_json", "{}", "exactly the members", id="post-processing-is-empty"),
        pytest.param("postprocess_json", '{"top_k": 1, "top_k": 2}', "twice", id="a-member-twice"),
    ],
)
def test_what_cannot_be_read_is_refused_with_a_sentence(
    copied: Callable[..., Path], name: str, text: str, says: str
) -> None:
    with pytest.raises(BundleRefused, match=says):
        read_bundle(copied(**{name: text}))


def test_the_manifest_names_the_bundle() -> None:
    manifest = read_manifest(BUNDLES / "v2.4.0")

    assert manifest is not None
    assert manifest.subject is not None
    assert (manifest.subject.model_id, manifest.subject.version) == ("intent-classifier", "v2.4.0")


def test_a_bundle_may_have_no_manifest(copied: Callable[..., Path]) -> None:
    folder = copied()
    (folder / "manifest.json").unlink()

    assert read_manifest(folder) is None


def test_a_manifest_that_disagrees_with_itself_is_refused(copied: Callable[..., Path]) -> None:
    folder = copied()
    document = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    document["digests"]["weights"] = f"sha256:{'0' * 64}"
    (folder / "manifest.json").write_text(json.dumps(document), encoding="utf-8")

    with pytest.raises(BundleRefused, match="do not follow"):
        read_manifest(folder)
