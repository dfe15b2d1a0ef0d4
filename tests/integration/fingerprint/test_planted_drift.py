"""Each of the six sources of drift, planted one at a time on a real model: the difference names it, the guard stops it.

The sources are weight files, tokenizer, post-processing, hardware and operator libraries, serving framework, and the
build pipeline, which saves the same tensors in other files.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from inference_dna import guard
from inference_dna.canonical import Refused, canonical
from inference_dna.difference.change import How, Kind
from inference_dna.difference.diff import SectionDifference, compare
from inference_dna.golden import golden_of
from inference_dna.guard import MISMATCH, GuardRefused
from inference_dna.making.generate import Order, generate
from inference_dna.manifest import Manifest, build_manifest, parse_manifest
from inference_dna.serving.standing import Standing
from inference_dna.starting.loaded_model import LoadedModel
from inference_dna.trust.pem import new_key_pair
from tests.support.smollm2 import copy_folder, load, model_folder

pytestmark = [pytest.mark.models, pytest.mark.slow]

REPOSITORY = Path(__file__).parents[3]
PROMPT_IDS = [504, 3575, 282, 4649, 314]  # "The capital of France is"
PROCESS_S = 100


@dataclass(frozen=True)
class Promise:
    """A signed manifest of the model as it is, with a golden input, and the key that verifies it."""

    path: Path
    key: Path
    manifest: Manifest


@pytest.fixture(scope="module")
def promise(tmp_path_factory: pytest.TempPathFactory) -> Promise:
    root = tmp_path_factory.mktemp("promise")
    private, public = new_key_pair()
    (root / "key.pem").write_bytes(private)
    (root / "key.pub").write_bytes(public)
    (root / "golden.json").write_text(json.dumps({"input_ids": PROMPT_IDS}))
    order = Order(
        model=model_folder(),
        output=root / "manifest.json",
        model_id="smollm2",
        version="v1.0.0",
        tensors=True,
        sign=root / "key.pem",
        golden=root / "golden.json",
    )
    manifest, engine = generate(order, now=datetime.now(UTC))
    assert engine == "transformers"
    return Promise(order.output, root / "key.pub", manifest)


class Drifted:
    """A folder loaded as a worker loads it, and measured once: for the guard and for a manifest of its own."""

    def __init__(self, folder: Path, *, loaded: tuple[Any, Any] | None = None) -> None:
        self.loaded = LoadedModel(*(loaded or load(folder)), folder)
        self.loaded.warm_up()
        self.genome = self.loaded.measure(())

    def start(self, promise: Promise) -> Standing:
        worker = guard.Worker(
            measure=lambda _bind: self.genome, generate=self.loaded.generate, loaded=self.loaded.difference
        )
        return guard.check(promise.path, worker, trust=[promise.key])

    def refusal(self, promise: Promise) -> GuardRefused:
        with pytest.raises(GuardRefused) as caught:
            self.start(promise)
        assert caught.value.code == MISMATCH
        return caught.value

    def difference(self, promise: Promise) -> SectionDifference:
        """The one section in which its manifest differs from the promised one."""
        document = build_manifest(
            self.genome, subject=promise.manifest.subject, created_at="now", assurance=promise.manifest.assurance
        )
        after = parse_manifest(canonical(document))
        (section,) = compare(promise.manifest, after).differing
        return section


def sections(found: GuardRefused) -> list[str]:
    return [row.section for row in found.rows]


def test_the_model_that_was_promised_starts(promise: Promise) -> None:
    standing = Drifted(model_folder()).start(promise)
    golden = golden_of(promise.manifest.genome)

    assert standing.health()[1]["dna"] == promise.manifest.dna
    assert golden is not None
    assert len(golden.output_ids) > 1


def test_one_changed_weight(promise: Promise, tmp_path: Path) -> None:
    folder = copy_folder(tmp_path / "model")
    content = bytearray((folder / "model.safetensors").read_bytes())
    content[len(content) // 2] ^= 1
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors").write_bytes(content)
    drifted = Drifted(folder)
    found, section = drifted.refusal(promise), drifted.difference(promise)

    assert sections(found) == ["weights"]
    assert "file model.safetensors changed" in found.report()
    assert section.section == "weights"
    assert not section.is_repackaged
    assert Kind.TENSORS in {change.kind for change in section.changes}


def test_weights_in_memory_that_are_not_those_of_the_files(promise: Promise) -> None:
    import torch

    model, tokenizer = load(model_folder())
    with torch.no_grad():
        model.model.norm.weight[0] += 1
    found = Drifted(model_folder(), loaded=(model, tokenizer)).refusal(promise)

    assert sections(found) == ["in memory"]
    assert "model.norm.weight" in found.report()


def lower_case(folder: Path) -> None:
    """A normaliser more: what a converter of another version might write."""
    path = folder / "tokenizer.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    document["normalizer"] = {"type": "Lowercase"}
    path.write_text(json.dumps(document), encoding="utf-8")


def test_a_changed_tokenizer(promise: Promise, tmp_path: Path) -> None:
    folder = copy_folder(tmp_path / "model")
    lower_case(folder)
    drifted = Drifted(folder)
    found, section = drifted.refusal(promise), drifted.difference(promise)

    assert sections(found) == ["tokenizer"]
    assert section.section == "tokenizer"
    assert any(change.kind is Kind.FILE and change.name == "tokenizer.json" for change in section.changes)
    (tokens,) = [change for change in section.changes if change.name == "probe.ids"]
    assert "place 0: id " in tokens.detail
    assert 'text "Hello, world!"' in tokens.detail


def test_a_chat_template_too_many(promise: Promise, tmp_path: Path) -> None:
    folder = copy_folder(tmp_path / "model")
    (folder / "chat_template.jinja").write_text("{{ messages[0].content }}", encoding="utf-8")

    assert sections(Drifted(folder).refusal(promise)) == ["tokenizer"]


def test_another_temperature(promise: Promise, tmp_path: Path) -> None:
    folder = copy_folder(tmp_path / "model")
    path = folder / "generation_config.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**document, "do_sample": True, "temperature": 0.95}), encoding="utf-8")
    drifted = Drifted(folder)
    found, section = drifted.refusal(promise), drifted.difference(promise)

    assert sections(found) == ["postprocess"]
    assert "setting values.temperature" in found.report()
    assert {change.name for change in section.changes} >= {"values.temperature", "values.do_sample"}


def test_the_same_tensors_saved_anew_by_the_build(promise: Promise, tmp_path: Path) -> None:
    folder = copy_folder(tmp_path / "model", linked=())
    model, _ = load(folder)
    (folder / "model.safetensors").unlink()
    model.save_pretrained(folder, max_shard_size="100MB")
    drifted = Drifted(folder)
    found, section = drifted.refusal(promise), drifted.difference(promise)

    assert section.section == "weights"
    assert section.is_repackaged
    assert [change.how for change in section.changes if change.kind is Kind.TENSORS] == [How.REPACKAGED]
    assert sections(found) == ["weights"]
    assert (folder / "model.safetensors.index.json").exists()


def test_weights_of_which_a_part_is_missing_get_no_manifest(tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    folder = copy_folder(tmp_path / "model", linked=())
    tensors = load_file(folder / "model.safetensors")
    del tensors["model.norm.weight"]
    (folder / "model.safetensors").unlink()
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})

    with pytest.raises(Refused, match=r"lack 1 of the model's tensors.*model\.norm\.weight"):
        generate(Order(model=folder, output=tmp_path / "manifest.json"), now=datetime.now(UTC))


PROGRAM = """
import socket
import sys
from pathlib import Path

from inference_dna import guard
from tests.support.smollm2 import load

manifest, key, folder = map(Path, sys.argv[1:])
guard.require(manifest, guard.transformers(*load(folder), folder), trust=[key])
with socket.create_server(("127.0.0.1", 0)) as listener:
    print("listening on", listener.getsockname()[1])
"""


def process(promise: Promise, **environ: str) -> subprocess.CompletedProcess[str]:
    """A worker process of its own: what it starts with decides how libraries load."""
    arguments = [promise.path, promise.key, model_folder()]
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, *map(str, arguments)],
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), **environ},
        capture_output=True,
        text=True,
        timeout=PROCESS_S,
    )


def test_a_process_of_its_own_starts(promise: Promise) -> None:
    done = process(promise)

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("listening on")


def test_other_instructions_of_the_processor(promise: Promise) -> None:
    done = process(promise, ATEN_CPU_CAPABILITY="default")

    assert (done.returncode, done.stdout) == (MISMATCH, "")
    assert "\nhardware " in done.stderr
    assert "cpu.isa" in done.stderr


def newer_library(folder: Path) -> None:
    """Metadata of a patch release in front of the installed one: what a rebuilt image brings along."""
    from importlib.metadata import distribution

    info = folder / "transformers-99.0.0.dist-info"
    info.mkdir(parents=True)
    installed = distribution("transformers")
    metadata = (installed.read_text("METADATA") or "").replace(f"Version: {installed.version}", "Version: 99.0.0", 1)
    (info / "METADATA").write_text(metadata, encoding="utf-8")
    (info / "RECORD").write_text("transformers-99.0.0.dist-info/RECORD,,\n", encoding="utf-8")


def test_another_version_of_the_framework(promise: Promise, tmp_path: Path) -> None:
    newer_library(tmp_path / "site")
    done = process(promise, PYTHONPATH=os.pathsep.join([str(REPOSITORY), str(tmp_path / "site")]))

    assert (done.returncode, done.stdout) == (MISMATCH, ""), done.stderr
    assert "\nframework " in done.stderr
    assert 'version packages.transformers "' in done.stderr
    assert '-> "99.0.0"' in done.stderr
