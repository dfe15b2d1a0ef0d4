from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path

import pytest

from inference_dna.archive import pack
from inference_dna.canonical import Refused
from inference_dna.files import FileEntry
from inference_dna.measure.folder import measure_folder
from inference_dna.measure.live_tokenizer import live_tokenizer
from inference_dna.measure.tokenizer import probe
from inference_dna.measure.tokenizer_archive import (
    archive_name,
    open_archive,
    open_promised,
    with_archive,
    write_archive,
)
from tests.unit.inference_dna.measure.conftest import Loaded


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "model"
    made.mkdir()
    for name in ("tokenizer.json", "tokenizer_config.json", "model.safetensors", "README.md"):
        (made / name).write_text(f"content of {name}", encoding="utf-8")
    return made


def entry(name: str, content: bytes) -> FileEntry:
    return FileEntry(name, len(content), sha256(content).hexdigest())


def test_the_archive_is_the_same_bytes_every_time(folder: Path, tmp_path: Path) -> None:
    first = write_archive(folder, "v2.4.0", tmp_path)
    content = (tmp_path / "tokenizer_v2.4.0.tar.gz").read_bytes()
    for file in folder.iterdir():
        os.utime(file, (1, 1))
        file.chmod(0o600)

    again = write_archive(folder, "2.4.0", tmp_path)

    assert again == first == entry("tokenizer_v2.4.0.tar.gz", content)
    assert (tmp_path / first.name).read_bytes() == content
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "tokenizer_v2.4.0.tar.gz"]


def test_it_holds_the_tokenizer_files_and_no_others(folder: Path, tmp_path: Path) -> None:
    dictionary = tmp_path / "user.dict"
    dictionary.write_bytes(b"words")

    packed = write_archive(folder, "v1.0.0", tmp_path, extra={"segmenter": dictionary})
    opened = open_archive(tmp_path / packed.name, tmp_path / "opened", digest=f"sha256:{packed.sha256}")

    assert [each.name for each in opened] == [
        "extra/segmenter/user.dict",
        "tokenizer.json",
        "tokenizer_config.json",
    ]
    assert (tmp_path / "opened/tokenizer.json").read_bytes() == (folder / "tokenizer.json").read_bytes()
    assert (tmp_path / "opened").stat().st_mode & 0o777 == 0o700


def test_another_archive_under_the_name_is_refused(folder: Path, tmp_path: Path) -> None:
    packed = write_archive(folder, "v1.0.0", tmp_path)
    (folder / "tokenizer.json").write_text("changed", encoding="utf-8")
    write_archive(folder, "v1.0.0", tmp_path)

    with pytest.raises(Refused, match="was promised"):
        open_archive(tmp_path / packed.name, tmp_path / "opened", digest=f"sha256:{packed.sha256}")
    assert not (tmp_path / "opened").exists()


@pytest.mark.parametrize(
    ("promised", "reason"),
    [
        pytest.param([entry("a", b"1"), entry("b", b"2")], None, id="equal"),
        pytest.param([entry("b", b"2"), entry("a", b"1")], None, id="order-does-not-count"),
        pytest.param([entry("a", b"1")], "holds the file 'b'", id="one-too-many"),
        pytest.param([entry("a", b"1"), entry("b", b"2"), entry("c", b"")], "lacks the file 'c'", id="one-too-few"),
        pytest.param([entry("a", b"2"), entry("b", b"1")], "'a' in the archive is another", id="two-names-swapped"),
    ],
)
def test_the_files_must_be_those_of_the_manifest(tmp_path: Path, promised: list[FileEntry], reason: str | None) -> None:
    content = pack({"a": b"1", "b": b"2"})
    (tmp_path / "t.tar.gz").write_bytes(content)
    digest = f"sha256:{sha256(content).hexdigest()}"

    if reason is None:
        assert len(open_archive(tmp_path / "t.tar.gz", tmp_path / "opened", digest=digest, files=promised)) == 2
        return
    with pytest.raises(Refused, match=reason):
        open_archive(tmp_path / "t.tar.gz", tmp_path / "opened", digest=digest, files=promised)
    assert not (tmp_path / "opened").exists()


def test_the_archive_that_a_manifest_promises_is_opened(folder: Path, tmp_path: Path) -> None:
    packed = write_archive(folder, "v1.0.0", tmp_path)
    files = [entry(name, (folder / name).read_bytes()) for name in ("tokenizer.json", "tokenizer_config.json")]
    section = with_archive({"kind": "huggingface-fast", "files": [each.document() for each in files]}, packed)

    assert list(open_promised(tmp_path / packed.name, tmp_path / "opened", section)) == files
    fewer = {**section, "files": [files[0].document()]}
    with pytest.raises(Refused, match="which the manifest does not name"):
        open_promised(tmp_path / packed.name, tmp_path / "again", fewer)
    with pytest.raises(Refused, match="names no archive"):
        open_promised(tmp_path / packed.name, tmp_path / "again", {"kind": "huggingface-fast"})


def test_a_folder_that_is_there_is_not_overwritten(folder: Path, tmp_path: Path) -> None:
    packed = write_archive(folder, "v1.0.0", tmp_path)

    with pytest.raises(Refused, match="is there already"):
        open_archive(tmp_path / packed.name, folder, digest=f"sha256:{packed.sha256}")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "tokenizer_v1.0.0.tar.gz"]


def test_a_folder_without_a_tokenizer_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"x")

    with pytest.raises(Refused, match="holds no tokenizer files"):
        write_archive(tmp_path, "v1.0.0", tmp_path)


@pytest.mark.parametrize("version", ["", "../v1", "v1/0"])
def test_a_version_that_is_no_file_name_is_refused(version: str) -> None:
    with pytest.raises(Refused, match="no version"):
        archive_name(version)


def test_an_archive_that_is_missing_or_too_large_is_refused(tmp_path: Path) -> None:
    digest = f"sha256:{'0' * 64}"
    with pytest.raises(Refused, match="No such file"):
        open_archive(tmp_path / "t.tar.gz", tmp_path / "opened", digest=digest)
    with (tmp_path / "t.tar.gz").open("wb") as stream:
        stream.truncate(300 * 1024 * 1024)
    with pytest.raises(Refused, match="larger than"):
        open_archive(tmp_path / "t.tar.gz", tmp_path / "opened", digest=digest)


def test_files_that_cannot_stand_in_one_folder_leave_nothing_behind(tmp_path: Path) -> None:
    content = pack({"a": b"1", "a/b": b"2"})
    (tmp_path / "t.tar.gz").write_bytes(content)

    with pytest.raises(Refused, match="writing the folder"):
        open_archive(tmp_path / "t.tar.gz", tmp_path / "opened", digest=f"sha256:{sha256(content).hexdigest()}")
    assert [path.name for path in tmp_path.iterdir()] == ["t.tar.gz"]


def test_a_folder_in_the_archive_s_place_is_not_replaced(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "tokenizer_v1.0.0.tar.gz").mkdir()

    with pytest.raises(Refused, match="Is a directory"):
        write_archive(folder, "v1.0.0", tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "tokenizer_v1.0.0.tar.gz"]


def test_a_place_nobody_may_write_to_is_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(Refused, match="Reading or writing the archive"):
        write_archive(folder, "v1.0.0", tmp_path / "missing")


@pytest.mark.models
def test_a_tokenizer_loaded_from_the_archive_answers_the_same(smollm2: Loaded, tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    packed = write_archive(smollm2.folder, "v1.0.0", tmp_path)
    files = measure_folder(smollm2.folder).tokenizer
    open_archive(tmp_path / packed.name, tmp_path / "opened", digest=f"sha256:{packed.sha256}", files=files)

    before = live_tokenizer(smollm2.tokenizer)
    after = live_tokenizer(AutoTokenizer.from_pretrained(tmp_path / "opened"))

    assert probe(after.encode, special_tokens=after.special_tokens, render_chat=after.render_chat) == probe(
        before.encode, special_tokens=before.special_tokens, render_chat=before.render_chat
    )
