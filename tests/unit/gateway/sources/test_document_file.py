from __future__ import annotations

import os
from pathlib import Path

import pytest

from gateway.sources.document_file import Unsettled, key_or_none, take


def test_a_file_is_read_whole_with_its_key(tmp_path: Path) -> None:
    folder = tmp_path / "contracts" / "m"
    folder.mkdir(parents=True)
    (folder / "1.0.0.json").write_bytes(b"text")

    file = take(tmp_path, "contracts/m/1.0.0.json", max_bytes=4)

    assert file.key == "contracts/m/v1.0.0"
    assert file.document is not None
    assert (file.document.text, file.document.origin) == (b"text", "contracts/m/1.0.0.json")


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        pytest.param("v1.0.json", "three numbers", id="no-key"),
        pytest.param("v2.0.0.json", "has 5 bytes, more than the 4", id="too-long"),
        pytest.param("v3.0.0.json", "cannot be read: No such file", id="not-there"),
        pytest.param("v4.0.0.json", "cannot be read: Too many levels", id="a-link-to-itself"),
    ],
)
def test_what_cannot_be_taken_says_why(tmp_path: Path, name: str, fault: str) -> None:
    (tmp_path / "contracts" / "m").mkdir(parents=True)
    for text in ("v1.0.json", "v2.0.0.json"):
        (tmp_path / "contracts" / "m" / text).write_bytes(b"12345")
    (tmp_path / "contracts" / "m" / "v4.0.0.json").symlink_to("v4.0.0.json")

    file = take(tmp_path, f"contracts/m/{name}", max_bytes=4)

    assert file.document is None
    assert fault in (file.fault or "")


def test_what_was_not_readable_is_tried_again_in_every_round(tmp_path: Path) -> None:
    assert take(tmp_path, "contracts/m/v1.0.0.json", max_bytes=4).stamp is None


def test_a_pipe_in_the_place_of_a_file_does_not_hang(tmp_path: Path) -> None:
    (tmp_path / "contracts" / "m").mkdir(parents=True)
    os.mkfifo(tmp_path / "contracts" / "m" / "v1.0.0.json")

    with pytest.raises(Unsettled):
        take(tmp_path, "contracts/m/v1.0.0.json", max_bytes=4)


def test_a_folder_in_the_place_of_a_file_leaves_no_descriptor_open(tmp_path: Path) -> None:
    (tmp_path / "contracts" / "m" / "v1.0.0.json").mkdir(parents=True)
    before = len(os.listdir("/proc/self/fd"))

    with pytest.raises(Unsettled):
        take(tmp_path, "contracts/m/v1.0.0.json", max_bytes=4)

    assert len(os.listdir("/proc/self/fd")) == before


def test_a_name_that_is_no_key_has_none() -> None:
    assert key_or_none("contracts/m/latest.json") is None
