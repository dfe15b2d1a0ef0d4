"""Each fault that a model folder can have, planted one at a time into folders as people have them.

A fault either changes the digest of its section or is refused with a sentence; nothing that lies in a folder is run.
"""

from __future__ import annotations

import json
import os
import pickle
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from inference_dna.canonical import Refused
from inference_dna.files import FileEntry, files_digest
from inference_dna.measure.folder import ModelFolder, measure_folder
from tests.support.weights import GRAPH, archive, gguf, index, safetensors

SHARDS = ("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors")
INDEX = "model.safetensors.index.json"
TENSORS = {"w1": SHARDS[0], "w2": SHARDS[0], "w3": SHARDS[1], "w4": SHARDS[1]}


def transformers_folder(root: Path) -> Path:
    """Two shards of different content and equal size, their index, configuration, tokenizer, code."""
    root.mkdir(parents=True)
    (root / SHARDS[0]).write_bytes(safetensors({"w1": os.urandom(300), "w2": os.urandom(20)}))
    (root / SHARDS[1]).write_bytes(safetensors({"w3": os.urandom(300), "w4": os.urandom(20)}))
    (root / INDEX).write_bytes(index(TENSORS))
    (root / "config.json").write_text(json.dumps({"architectures": ["X"]}), encoding="utf-8")
    (root / "tokenizer.json").write_text("{}", encoding="utf-8")
    (root / "tokenizer_config.json").write_text("{}", encoding="utf-8")
    (root / "generation_config.json").write_text("{}", encoding="utf-8")
    (root / "modeling_x.py").write_text("raise RuntimeError('code of a model was run')", encoding="utf-8")
    return root


def snapshot_folder(root: Path) -> Path:
    """The same as the hub keeps it: links in a snapshot to blobs beside it."""
    plain = transformers_folder(root.parent / "plain")
    repository = root / "models--org--m"
    snapshot = repository / "snapshots" / "5f1d2c9"
    snapshot.mkdir(parents=True)
    (repository / "blobs").mkdir()
    for number, file in enumerate(sorted(plain.iterdir())):
        file.rename(repository / "blobs" / f"{number:040x}")
        (snapshot / file.name).symlink_to(f"../../blobs/{number:040x}")
    return snapshot


@pytest.fixture(params=[transformers_folder, snapshot_folder])
def model(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    made: Path = request.param(tmp_path / "model")
    return made


def entries(folder: ModelFolder) -> tuple[FileEntry, ...]:
    return (*folder.weights, *folder.tokenizer, *folder.postprocess)


def changed_sections(before: ModelFolder, after: ModelFolder) -> set[str]:
    return {name for name in ("weights", "tokenizer", "postprocess") if getattr(before, name) != getattr(after, name)}


def unlinked(path: Path) -> Path:
    """Give the folder a file of its own in place of a link."""
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(content)
    return path


def swap(model: Path) -> None:
    first, second, between = (model / name for name in (*SHARDS, "between"))
    first.rename(between)
    second.rename(first)
    between.rename(second)


def swap_with_index(model: Path) -> None:
    swap(model)
    unlinked(model / INDEX).write_bytes(index({"w1": SHARDS[1], "w2": SHARDS[1], "w3": SHARDS[0], "w4": SHARDS[0]}))


def test_one_flipped_byte_is_seen_wherever_it_is(tmp_path: Path) -> None:
    """Every file of the folder, at twenty places from its first byte to its last: seen in the digest, or refused."""
    model = transformers_folder(tmp_path / "model")
    before = files_digest(entries(measure_folder(model)))
    for file in sorted(model.iterdir()):
        content = file.read_bytes()
        for place in {*range(0, len(content), max(1, len(content) // 20)), len(content) - 1}:
            file.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
            assert measured_or_refused(model) != before, (file.name, place)
        file.write_bytes(content)
    assert files_digest(entries(measure_folder(model))) == before


@pytest.mark.parametrize("flipped", [b"\t", b"!", b"\0"])
def test_a_byte_that_belongs_to_no_tensor_counts_too(tmp_path: Path, flipped: bytes) -> None:
    """A header may end in blanks: other white space is another file, anything else no header."""
    path, content = tmp_path / "model.safetensors", safetensors({"w": b"1234"})
    (length,) = struct.unpack("<Q", content[:8])
    padded = content[8 : 8 + length] + b"    "
    path.write_bytes(struct.pack("<Q", length + 4) + padded + content[8 + length :])
    before = measured_or_refused(tmp_path)
    path.write_bytes(struct.pack("<Q", length + 4) + padded[:-2] + flipped + b" " + content[8 + length :])

    assert measured_or_refused(tmp_path) != before


def measured_or_refused(model: Path) -> str:
    """The digest over all entries, or the sentence of the refusal."""
    try:
        return files_digest(entries(measure_folder(model)))
    except Refused as refused:
        return str(refused)


@pytest.mark.parametrize(
    ("plant", "section"),
    [
        pytest.param(lambda m: (m / "helper.py").write_text("import os"), "weights", id="py-added"),
        pytest.param(lambda m: (m / "sub").mkdir() or (m / "sub/x.py").touch(), "weights", id="py-added-below"),
        pytest.param(lambda m: unlinked(m / "modeling_x.py").write_text("import os"), "weights", id="py-changed"),
        pytest.param(lambda m: (m / "chat_template.jinja").write_text("{{ x }}"), "tokenizer", id="template-added"),
        pytest.param(lambda m: (m / "other.jinja").write_text("{{ x }}"), "weights", id="other-template-added"),
        pytest.param(swap_with_index, "weights", id="names-swapped-and-the-index-mended"),
        pytest.param(lambda m: (m / "config.json").rename(m / "Config.json"), "weights", id="renamed"),
    ],
)
def test_what_is_seen_in_the_digest(model: Path, plant: Callable[[Path], object], section: str) -> None:
    before = measure_folder(model)
    plant(model)

    assert changed_sections(before, measure_folder(model)) == {section}


def harmful(mark: Path, protocol: int = 2) -> bytes:
    """A pickle that makes a folder when it is read back."""

    class Marks:
        def __reduce__(self) -> tuple[Any, tuple[str]]:
            return os.mkdir, (str(mark),)

    return pickle.dumps(Marks(), protocol)


def bomb(path: Path) -> None:
    path.unlink(missing_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        for number in range(3):
            with file.open(f"m/data/{number}", "w") as member:
                for _ in range(100):
                    member.write(bytes(1_000_000))


def write(path: Path, content: bytes) -> None:
    path.unlink(missing_ok=True)
    path.write_bytes(content)


def cut(path: Path, length: int) -> None:
    write(path, path.read_bytes()[:length])


def append(path: Path) -> None:
    write(path, path.read_bytes() + b"x")


@pytest.mark.parametrize(
    ("plant", "why"),
    [
        pytest.param(swap, r"index.*disagree about the tensors 'w1', 'w2'", id="shards-swapped"),
        pytest.param(lambda m: (m / "x").symlink_to("nowhere"), "'x' dangles", id="dangling-link"),
        pytest.param(lambda m: (m / "x").symlink_to("/etc/passwd"), "'x' leaves", id="escaping-link"),
        pytest.param(lambda m: (m / "x").symlink_to("../../../.."), "'x' leaves", id="link-to-all-above"),
        pytest.param(lambda m: (m / "x").symlink_to("x"), "'x' dangles or loops", id="link-to-itself"),
        pytest.param(lambda m: (m / "x").symlink_to("."), "'x' loops", id="link-to-its-folder"),
        pytest.param(lambda m: os.mkfifo(m / "x"), "'x' is no regular file", id="fifo"),
        pytest.param(lambda m: cut(m / SHARDS[1], -9), "may be truncated", id="truncated"),
        pytest.param(lambda m: cut(m / SHARDS[1], 40), "does not begin", id="cut-header"),
        pytest.param(lambda m: write(m / SHARDS[1], b""), "does not begin", id="empty-shard"),
        pytest.param(lambda m: write(m / SHARDS[1], bytes(2000)), "does not begin", id="zeroed-shard"),
        pytest.param(lambda m: append(m / SHARDS[1]), "was appended", id="appended"),
        pytest.param(lambda m: (m / SHARDS[1]).unlink(), f"missing: '{SHARDS[1]}'", id="shard-missing"),
        pytest.param(lambda m: write(m / INDEX, index(TENSORS | {"w3": "model-3.safetensors"})),
                     "names shards that are missing: 'model-3", id="index-names-a-missing-shard"),
        pytest.param(lambda m: write(m / INDEX, index(TENSORS | {"w5": SHARDS[1]})),
                     "disagree about the tensors 'w5'", id="index-names-a-tensor-nobody-has"),
        pytest.param(lambda m: write(m / INDEX, b"{"), "cannot be read", id="index-is-no-json"),
        pytest.param(lambda m: bomb(m / "pytorch_model.bin"), "a ZIP bomb", id="zip-bomb"),
        pytest.param(lambda m: bomb(m / SHARDS[1]), "does not begin", id="zip-bomb-as-shard"),
        pytest.param(lambda m: write(m / "pytorch_model.bin", harmful(m / "ran")), "bare pickle", id="pickle"),
        pytest.param(lambda m: write(m / "pytorch_model.bin", harmful(m / "ran", 0)), "bare pickle", id="old-pickle"),
        pytest.param(lambda m: write(m / "optimizer.pt", harmful(m / "ran", 5)), "bare pickle", id="new-pickle"),
        pytest.param(lambda m: write(m / SHARDS[1], harmful(m / "ran")), "does not begin", id="pickle-as-shard"),
        pytest.param(lambda m: write(m / "model.gguf", harmful(m / "ran")), "GGUF", id="pickle-as-gguf"),
        pytest.param(lambda m: write(m / "model.onnx", harmful(m / "ran")), "no (ONNX|protobuf)", id="pickle-as-onnx"),
        pytest.param(lambda m: write(m / "model.onnx", GRAPH[:-1]), "may be truncated", id="onnx-truncated"),
        pytest.param(lambda m: write(m / "model.gguf", gguf()[:-50]), "may be truncated", id="gguf-truncated"),
        pytest.param(lambda m: cut(archive(m / "model.pt", {"m/data.pkl": harmful(m / "ran")}), -4),
                     "may be truncated", id="archive-truncated"),
    ],
)  # fmt: skip
def test_what_is_refused_with_a_sentence(model: Path, plant: Callable[[Path], object], why: str) -> None:
    measure_folder(model)
    plant(model)

    with pytest.raises(Refused, match=why) as refused:
        measure_folder(model)
    assert str(refused.value).endswith(".")
    assert not (model / "ran").exists()


@pytest.mark.parametrize("protocol", range(6))
def test_a_pickle_inside_an_archive_is_hashed_and_not_run(tmp_path: Path, protocol: int) -> None:
    archive(tmp_path / "pytorch_model.bin", {"m/data.pkl": harmful(tmp_path / "ran", protocol), "m/version": b"3"})

    assert measure_folder(tmp_path).form == "pytorch"
    assert not (tmp_path / "ran").exists()


def test_a_huge_header_is_not_read(tmp_path: Path) -> None:
    """Sparse on the disk: 200 MB that claim to be one JSON text."""
    with (tmp_path / "model.safetensors").open("wb") as stream:
        stream.write((200_000_000).to_bytes(8, "little") + b"{")
        stream.truncate(200_000_100)

    with pytest.raises(Refused, match="does not begin with the length"):
        measure_folder(tmp_path)


def test_a_header_of_brackets_is_refused(tmp_path: Path) -> None:
    text = b'{"a":' + b"[" * 100_000
    (tmp_path / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text)

    with pytest.raises(Refused, match=r"header of 'model\.safetensors' cannot be read"):
        measure_folder(tmp_path)
