from __future__ import annotations

import hashlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inference_dna.canonical import Refused
from inference_dna.files import (
    FileEntry,
    TensorEntry,
    check_name,
    escaped,
    files_digest,
    files_text,
    parse_files,
    tensors_digest,
)

A, B = hashlib.sha256(b"a").hexdigest(), hashlib.sha256(b"b").hexdigest()

UNTIMED = settings(deadline=None)
"""A busy machine is no failure."""

COMPONENTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="/\0"), min_size=1).filter(
    lambda component: component not in (".", "..")
)
NAMES = st.lists(COMPONENTS, min_size=1, max_size=3).map("/".join)
ENTRIES = st.lists(
    st.builds(FileEntry, NAMES, st.integers(min_value=0, max_value=2**63 - 1), st.sampled_from([A, B])),
    min_size=1,
    unique_by=lambda entry: entry.name,
)


@UNTIMED
@given(ENTRIES, st.randoms(use_true_random=False))
def test_the_order_in_which_files_were_found_does_not_matter(entries: list[FileEntry], dice: Any) -> None:
    shuffled = list(entries)
    dice.shuffle(shuffled)

    assert files_digest(shuffled) == files_digest(entries)


@UNTIMED
@given(ENTRIES)
def test_one_line_per_file_sorted_by_the_bytes_of_the_name(entries: list[FileEntry]) -> None:
    lines = files_text(entries).split("\n")

    by_bytes = sorted(entries, key=lambda entry: entry.name.encode())
    assert lines == [*(f"{e.sha256}  {e.size} {escaped(e.name)}" for e in by_bytes), ""]


@UNTIMED
@given(ENTRIES)
def test_an_entry_reads_back_from_its_document(entries: list[FileEntry]) -> None:
    assert parse_files([entry.document() for entry in entries]) == tuple(entries)


def test_two_files_that_swap_their_contents_change_the_digest() -> None:
    before = [FileEntry("x.bin", 1, A), FileEntry("y.bin", 1, B)]
    after = [FileEntry("x.bin", 1, B), FileEntry("y.bin", 1, A)]

    assert files_digest(before) != files_digest(after)


def test_a_line_feed_in_a_name_cannot_imitate_a_second_file() -> None:
    forged = FileEntry(f"x\n{B}  1 y", 1, A)

    assert files_text([forged]) == f"{A}  1 x\\n{B}  1 y\n"
    assert files_digest([forged]) != files_digest([FileEntry("x", 1, A), FileEntry("y", 1, B)])


@pytest.mark.parametrize(
    ("name", "written"), [("a\\nb", "a\\\\nb"), ("a\nb", "a\\nb"), ("a\rb", "a\\rb"), ("a b", "a b")]
)
def test_escapes_tell_a_backslash_from_a_line_feed(name: str, written: str) -> None:
    assert escaped(name) == written


@pytest.mark.parametrize("name", ["...", "a b", "a\nb", "a|b", "a\\b", "模型.bin", ".hidden", "a/..b", "café"])
def test_ordinary_names(name: str) -> None:
    assert FileEntry(name, 0, A).name == name


@pytest.mark.parametrize(
    "name", ["", "/a", "a/", "a//b", ".", "..", "./a", "a/./b", "../a", "a/..", "a\0b", "a\udcff", 7, None]
)
def test_names_that_are_refused(name: object) -> None:
    with pytest.raises(Refused, match="file name"):
        check_name(name)


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(None, id="null"),
        pytest.param({"name": "a", "size": 1, "sha256": A}, id="one-entry-without-a-list"),
        pytest.param(["a"], id="entry-is-a-name"),
        pytest.param([{"name": "a", "size": 1}], id="no-hash"),
        pytest.param([{"name": "a", "size": "1", "sha256": A}], id="size-is-text"),
        pytest.param([{"name": 1, "size": 1, "sha256": A}], id="name-is-a-number"),
        pytest.param([{"name": "a", "size": 1, "sha256": None}], id="hash-is-null"),
        pytest.param([], id="empty"),
        pytest.param([{"name": "a", "size": 1, "sha256": A}] * 2, id="one-name-twice"),
    ],
)
def test_lists_that_are_refused(value: Any) -> None:
    with pytest.raises(Refused):
        parse_files(value)


def test_no_files_at_all_have_no_digest() -> None:
    with pytest.raises(Refused, match="at least one"):
        files_digest([])


def test_tensors_of_two_shards_have_one_digest_in_any_order() -> None:
    first, second = TensorEntry("w", "F16", (2, 3), A), TensorEntry("b", "F32", (), B)

    assert tensors_digest([first, second]) == tensors_digest([second, first])
    assert tensors_digest([first]) != tensors_digest([TensorEntry("w", "F16", (3, 2), A)])


def test_a_tensor_named_in_two_shards_is_refused() -> None:
    entry = TensorEntry("w", "F16", (2, 3), A)

    with pytest.raises(Refused, match="'w' stands twice"):
        tensors_digest([entry, entry])


@pytest.mark.parametrize(
    ("dtype", "shape", "sha256"),
    [
        ("", (1,), A),
        ("F 16", (1,), A),
        ("F16\n", (1,), A),
        ("Ｆ16", (1,), A),
        ("F16", (-1,), A),
        ("F16", (True,), A),
        ("F16", (1,), "x"),
    ],
)
def test_tensors_that_are_refused(dtype: str, shape: tuple[int, ...], sha256: str) -> None:
    with pytest.raises(Refused):
        TensorEntry("w", dtype, shape, sha256)
