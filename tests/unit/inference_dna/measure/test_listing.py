from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from inference_dna.canonical import Refused
from inference_dna.measure import listing
from inference_dna.measure.listing import DEEPEST, find_file, list_folder


def write(path: Path, text: str = "x") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def names(root: Path) -> list[str]:
    return [found.name for found in list_folder(root)]


def contents(root: Path) -> dict[str, str]:
    return {found.name: found.path.read_text(encoding="utf-8") for found in list_folder(root)}


def test_every_regular_file_is_listed_by_its_relative_name(tmp_path: Path) -> None:
    for name in ("b.bin", "a/c.bin", "a.bin", "模型.bin", "a/empty", ".hidden/x"):
        write(tmp_path / name)
    (tmp_path / "nothing").mkdir()

    assert names(tmp_path) == [".hidden/x", "a.bin", "a/c.bin", "a/empty", "b.bin", "模型.bin"]


def test_a_link_is_listed_under_its_own_path_with_its_targets_content(tmp_path: Path) -> None:
    write(tmp_path / "sub" / "real.bin", "weights")
    (tmp_path / "link.bin").symlink_to("sub/real.bin")

    assert contents(tmp_path) == {"link.bin": "weights", "sub/real.bin": "weights"}


def test_a_link_to_a_folder_inside_is_followed(tmp_path: Path) -> None:
    write(tmp_path / "real" / "a.bin", "weights")
    (tmp_path / "again").symlink_to("real")

    assert contents(tmp_path) == {"again/a.bin": "weights", "real/a.bin": "weights"}


def test_links_of_a_hub_cache_are_followed_inside_their_repository(tmp_path: Path) -> None:
    repository = tmp_path / "models--org--m"
    write(repository / "blobs" / "91aa", "weights")
    write(repository / "snapshots" / "older" / "vocab.txt", "words")
    snapshot = repository / "snapshots" / "5f1d2c9"
    (snapshot / "sub").mkdir(parents=True)
    (snapshot / "model.bin").symlink_to("../../blobs/91aa")
    (snapshot / "sub" / "model.bin").symlink_to("../../../blobs/91aa")
    (snapshot / "vocab.txt").symlink_to("../older/vocab.txt")

    assert contents(snapshot) == {"model.bin": "weights", "sub/model.bin": "weights", "vocab.txt": "words"}
    assert contents(snapshot / "sub") == {"model.bin": "weights"}


def test_a_link_into_another_repository_of_the_cache_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "models--org--other" / "blobs" / "91aa")
    (tmp_path / "models--org--m" / "blobs").mkdir(parents=True)
    snapshot = tmp_path / "models--org--m" / "snapshots" / "5f1d2c9"
    snapshot.mkdir(parents=True)
    (snapshot / "model.bin").symlink_to("../../../models--org--other/blobs/91aa")

    with pytest.raises(Refused, match=r"'model.bin' leaves"):
        list_folder(snapshot)


def test_the_root_itself_may_be_a_link(tmp_path: Path) -> None:
    write(tmp_path / "real" / "a.bin")
    (tmp_path / "current").symlink_to("real")

    assert names(tmp_path / "current") == ["a.bin"]


@pytest.mark.parametrize(
    ("target", "why"),
    [
        pytest.param("../outside.bin", "leaves", id="beside-the-folder"),
        pytest.param("/etc", "leaves", id="absolute-folder"),
        pytest.param("..", "leaves", id="the-folder-above"),
        pytest.param("missing.bin", "dangles or loops", id="dangling"),
        pytest.param("link", "dangles or loops", id="itself"),
        pytest.param(".", "loops", id="the-folder-that-holds-it"),
    ],
)
def test_links_that_are_refused(tmp_path: Path, target: str, why: str) -> None:
    write(tmp_path / "outside.bin")
    write(tmp_path / "model" / "a.bin")
    (tmp_path / "model" / "link").symlink_to(target)

    with pytest.raises(Refused, match=f"'link' {why}"):
        list_folder(tmp_path / "model")


def test_folders_that_link_to_each_other_loop(tmp_path: Path) -> None:
    write(tmp_path / "a" / "x")
    write(tmp_path / "b" / "y")
    (tmp_path / "a" / "to_b").symlink_to("../b")
    (tmp_path / "b" / "to_a").symlink_to("../a")

    with pytest.raises(Refused, match="loops"):
        list_folder(tmp_path)


def test_a_hidden_link_is_listed_and_not_followed(tmp_path: Path) -> None:
    write(tmp_path / "a.bin")
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "python").symlink_to("/nowhere/python")

    assert names(tmp_path) == [".venv/python", "a.bin"]


def test_a_fifo_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(Refused, match="'pipe' is no regular file"):
        list_folder(tmp_path)


def test_a_socket_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the path of a socket is short by law
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("s")

        with pytest.raises(Refused, match="'s' is no regular file"):
            list_folder(tmp_path)


def test_a_link_to_a_device_is_refused(tmp_path: Path) -> None:
    (tmp_path / "null").symlink_to("/dev/null")

    with pytest.raises(Refused, match="leaves"):
        list_folder(tmp_path)


def test_a_name_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    (Path(os.fsdecode(os.fsencode(tmp_path) + b"/a\xff.bin"))).write_text("x", encoding="utf-8")

    with pytest.raises(Refused, match="not UTF-8"):
        list_folder(tmp_path)


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="No such file or directory"):
        list_folder(tmp_path / "missing")


def test_one_file_is_found_under_the_same_rules(tmp_path: Path) -> None:
    write(tmp_path / "sub" / "real.bin", "weights")
    (tmp_path / "link.bin").symlink_to("sub/real.bin")
    (tmp_path / "out.bin").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "pipe")
    found = find_file(tmp_path, "link.bin")

    assert found is not None
    assert (found.name, found.size, found.path) == ("link.bin", 7, tmp_path / "sub" / "real.bin")
    assert find_file(tmp_path, "missing.bin") is None
    for name, why in (("out.bin", "leaves"), ("pipe", "no regular file"), ("sub", "no regular file"), ("../x", "`..`")):
        with pytest.raises(Refused, match=why):
            find_file(tmp_path, name)


def test_folders_deeper_than_any_models_are_refused(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["d"] * (DEEPEST + 1))
    deep.mkdir(parents=True)

    with pytest.raises(Refused, match=f"more than {DEEPEST} folders deep"):
        list_folder(tmp_path)


def test_links_that_multiply_names_end_in_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twelve folders, each with two links to the next one: 4096 ways to one file."""
    monkeypatch.setattr(listing, "MOST_FILES", 1000)
    for number in range(12):
        folder = tmp_path / str(number)
        folder.mkdir()
        for name in ("left", "right"):
            (folder / name).symlink_to(f"../{number + 1}")
    (tmp_path / "12").mkdir()
    (tmp_path / "12" / "file").touch()

    with pytest.raises(Refused, match="holds more than 1000 files"):
        list_folder(tmp_path)
