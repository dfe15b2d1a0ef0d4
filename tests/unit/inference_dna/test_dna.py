from __future__ import annotations

import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inference_dna.canonical import Refused
from inference_dna.digest import hashed
from inference_dna.dna import Strands, common_prefix, distance, frame, is_dna, parse_dna, parse_dna_prefix, strand

RUNTIME = "bc261cf54243739820d50076c61e398ddc56b9da0a9df74aed6b84bef8da7459"
INPUT = "2e67a18651ba3bd027223c28a82dbe1524caf7d5cb490771069a9b9fb1b8ee3f"
DNA = "7cd8a0c1aa6a64d4"

UNTIMED = settings(deadline=None)
"""A busy machine is no failure."""

DNAS = st.text("0123456789abcdef", min_size=16, max_size=16)

NOT_DNA = [
    pytest.param("", id="empty"),
    pytest.param("7cd8a0c1", id="prefix"),
    pytest.param(DNA.upper(), id="capitals"),
    pytest.param("a1b2c3d4e5f6g7h8", id="letters-outside-hex"),
    pytest.param("7cd8-a0c1-aa6a64", id="separators"),
    pytest.param(f"{DNA}0", id="17-characters"),
    pytest.param(f"{DNA[:-1]}\n", id="line-feed-at-the-end"),
    pytest.param(f"{DNA}, {DNA}", id="sent-twice"),
    pytest.param(f"{DNA[:-1]}４", id="full-width-digit"),
]


def test_the_strand_by_hand() -> None:
    by_hand = hashlib.sha256(f"inference-dna/1/request\n{RUNTIME}\n{INPUT}".encode()).hexdigest()[:8]

    assert strand(RUNTIME, INPUT) == by_hand == "1d886967"
    assert strand(RUNTIME, "") == "aa6a64d4"


@pytest.mark.parametrize(
    ("runtime", "input_hash"),
    [(f"sha256:{RUNTIME}", ""), (RUNTIME[:-1], ""), (RUNTIME, INPUT[:12]), (RUNTIME, INPUT.upper()), ("", "")],
)
def test_a_strand_needs_both_digests_whole(runtime: str, input_hash: str) -> None:
    with pytest.raises(Refused):
        strand(runtime, input_hash)


def test_a_dna_is_16_hex() -> None:
    assert parse_dna(DNA) == DNA
    assert is_dna(DNA)


@pytest.mark.parametrize("text", NOT_DNA)
def test_anything_else_is_malformed(text: str) -> None:
    assert not is_dna(text)
    with pytest.raises(Refused, match="no DNA"):
        parse_dna(text)
    with pytest.raises(Refused, match="no DNA"):
        distance(DNA, text)
    with pytest.raises(Refused, match="no DNA"):
        frame(text)


@pytest.mark.parametrize("text", ["7", "7cd8", "7cd8a0c1"])
def test_a_prefix_has_1_to_8_characters(text: str) -> None:
    assert parse_dna_prefix(text) == text


@pytest.mark.parametrize("text", ["", "7cd8a0c1a", "7CD8", "wxyz", " 7cd8", "7cd8*"])
def test_other_prefixes_are_refused(text: str) -> None:
    with pytest.raises(Refused, match="no DNA prefix"):
        parse_dna_prefix(text)


@UNTIMED
@given(DNAS, DNAS)
def test_distance_counts_places_of_the_runtime_half(a: str, b: str) -> None:
    assert distance(a, b) == sum(a[place] != b[place] for place in range(8))
    assert distance(a, b) == distance(b, a)
    assert distance(a, a[:8] + b[8:]) == 0


def test_a_frame_carries_the_first_four_bytes() -> None:
    assert frame("a1b2c3d49f8e7d6c") == b"\xa1\xb2\xc3\xd4"


@pytest.mark.parametrize(
    ("a", "b", "shared"),
    [("7cd8", DNA, 4), (DNA, DNA, 16), ("7cd9", DNA, 3), ("8", DNA, 0), ("", DNA, 0), ("7cda", "7cd8a0c1", 3)],
)
def test_the_common_prefix(a: str, b: str, shared: int) -> None:
    assert common_prefix(a, b) == common_prefix(b, a) == shared


@pytest.mark.parametrize("input_hash", ["", "ab" * 32, hashed("input", "anything")])
def test_strands_of_one_runtime_are_the_strands(input_hash: str) -> None:
    runtime = hashed("runtime", "some")

    assert Strands(runtime).of(input_hash.encode()) == strand(runtime, input_hash).encode()


def test_strands_need_a_runtime_digest() -> None:
    with pytest.raises(Refused, match="is no runtime digest"):
        Strands("sha256:" + "0" * 64)
