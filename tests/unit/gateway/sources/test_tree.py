from __future__ import annotations

import os
from pathlib import Path

import pytest

from gateway.printable import printable
from gateway.sources.tree import is_absent, walk


def put(root: Path, path: str, text: str = "{}") -> Path:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def test_files_at_any_depth_are_listed_by_their_path_under_the_root(tmp_path: Path) -> None:
    put(tmp_path, "contracts/org/m/v1.0.0.json")
    put(tmp_path, "routes/m.yaml")
    put(tmp_path, "elsewhere/x.json")

    listing = walk(tmp_path)

    assert set(listing.files) == {"contracts/org/m/v1.0.0.json", "routes/m.yaml"}
    assert listing.tops == {"contracts", "routes"}
    assert listing.complete
    assert not listing.problems


def test_the_folder_inference_is_the_root_where_only_that_has_documents(tmp_path: Path) -> None:
    put(tmp_path, "inference/contracts/m/v1.0.0.json")

    assert set(walk(tmp_path).files) == {"contracts/m/v1.0.0.json"}

    (tmp_path / "contracts").mkdir()

    assert not walk(tmp_path).files


def test_a_stamp_changes_with_every_edit_even_of_the_same_length(tmp_path: Path) -> None:
    file = put(tmp_path, "contracts/m/v1.0.0.json", "{} ")
    before = walk(tmp_path).files["contracts/m/v1.0.0.json"]
    os.utime(file, ns=(0, 0))

    assert walk(tmp_path).files["contracts/m/v1.0.0.json"] != before


def test_a_config_map_made_of_links_is_followed_and_its_hidden_half_passed_over(tmp_path: Path) -> None:
    put(tmp_path, "contracts/m/..2024_01/v1.0.0.json")
    folder = tmp_path / "contracts" / "m"
    (folder / "..data").symlink_to("..2024_01")
    (folder / "v1.0.0.json").symlink_to("..data/v1.0.0.json")

    assert set(walk(tmp_path).files) == {"contracts/m/v1.0.0.json"}


def test_a_link_back_into_its_own_folder_is_a_fault_and_no_loop(tmp_path: Path) -> None:
    put(tmp_path, "contracts/m/v1.0.0.json")
    (tmp_path / "contracts" / "m" / "again").symlink_to(tmp_path / "contracts")

    listing = walk(tmp_path)

    assert "link back" in listing.faults["contracts/m/again"]
    assert set(listing.files) == {"contracts/m/v1.0.0.json"}


def test_what_cannot_be_looked_at_is_a_fault(tmp_path: Path) -> None:
    put(tmp_path, "contracts/m/v1.0.0.json")
    (tmp_path / "contracts" / "m" / "v2.0.0.json").symlink_to("nowhere")
    os.mkfifo(tmp_path / "contracts" / "m" / "v3.0.0.json")

    listing = walk(tmp_path)

    assert "No such file" in listing.faults["contracts/m/v2.0.0.json"]
    assert listing.faults["contracts/m/v3.0.0.json"] == "is not a regular file"


def test_a_walk_takes_breaks_in_large_folders_and_between_small_ones(tmp_path: Path) -> None:
    for number in range(200):
        put(tmp_path, f"routes/m{number}.yaml")
        put(tmp_path, f"contracts/m{number}/v1.0.0.json")
    breaks = list[int]()

    walk(tmp_path, take_break=lambda: breaks.append(0))

    assert len(breaks) > 200 + 200 / 64


def test_what_is_removed_during_a_break_is_not_seen_and_no_fault(tmp_path: Path) -> None:
    for number in range(3):
        put(tmp_path, f"routes/m{number}.yaml")
    breaks = iter(("before the folder is listed", "before its files are looked at"))

    def take_break() -> None:
        if next(breaks).startswith("before its files"):
            (tmp_path / "routes/m1.yaml").unlink()

    listing = walk(tmp_path, take_break=take_break)

    assert set(listing.files) == {"routes/m0.yaml", "routes/m2.yaml"}
    assert not listing.faults
    assert listing.tops == {"routes"}


def test_a_name_that_no_log_can_hold_is_a_fault_in_printable_letters(tmp_path: Path) -> None:
    put(tmp_path, "contracts/m/v1.0.0.json")
    with open(os.fsencode(tmp_path) + b"/contracts/m/v\xff.json", "wb"):
        pass

    (path,) = walk(tmp_path).faults

    assert path.isprintable()
    assert printable("a\nb") == "a\\nb"


def test_a_folder_that_is_not_there_is_a_problem(tmp_path: Path) -> None:
    listing = walk(tmp_path / "nowhere")

    assert "No such file or directory" in listing.problems[0]
    assert not listing.tops


def test_a_folder_without_documents_is_a_problem(tmp_path: Path) -> None:
    assert "neither contracts/ nor routes/" in walk(tmp_path).problems[0]


@pytest.mark.parametrize(
    ("path", "absent"),
    [
        pytest.param("contracts/m/v1.0.0.json", False, id="it-is-there"),
        pytest.param("contracts/m/v2.0.0.json", True, id="its-folder-is-there-without-it"),
        pytest.param("contracts/gone/v2.0.0.json", True, id="its-folder-is-gone-the-one-above-can-be-read"),
        pytest.param("contracts/loop/v2.0.0.json", False, id="its-folder-cannot-be-looked-at"),
        pytest.param("contracts/m/v1.0.0.json/v2.0.0.json", True, id="its-folder-became-a-file"),
    ],
)
def test_a_file_is_absent_only_where_that_can_be_seen(tmp_path: Path, path: str, absent: bool) -> None:
    put(tmp_path, "contracts/m/v1.0.0.json")
    (tmp_path / "contracts" / "loop").symlink_to("loop")

    assert is_absent(tmp_path, path) is absent
