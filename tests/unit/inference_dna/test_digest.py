from __future__ import annotations

import hashlib

import pytest

from inference_dna.canonical import Refused
from inference_dna.digest import hashed, is_hex, parse_digest, parse_hex

HEX = "bc261cf54243739820d50076c61e398ddc56b9da0a9df74aed6b84bef8da7459"


def test_the_name_and_the_version_byte_are_part_of_what_is_hashed() -> None:
    expected = hashlib.sha256("inference-dna/1/stack\né".encode()).hexdigest()

    assert hashed("stack", "é") == expected
    assert hashed("stack", "é".encode()) == expected
    assert hashed("artifact", "é") != expected


def test_a_text_that_utf8_cannot_hold_is_refused() -> None:
    with pytest.raises(Refused, match="surrogate"):
        hashed("stack", "\ud800")


def test_a_digest_is_read_to_its_bare_hex() -> None:
    assert parse_digest(f"sha256:{HEX}") == HEX


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param(HEX, id="bare"),
        pytest.param(f"sha256:{HEX.upper()}", id="capitals"),
        pytest.param(f"SHA256:{HEX}", id="capital-name"),
        pytest.param(f"sha512:{HEX}", id="other-name"),
        pytest.param(f"sha256:{HEX[:-1]}", id="short"),
        pytest.param(f"sha256:{HEX}0", id="long"),
        pytest.param(f" sha256:{HEX[:-1]}", id="leading-space"),
        pytest.param(f"sha256:{HEX[:-1]}\n", id="line-feed-for-a-letter"),
        pytest.param(f"sha256:{HEX[:30]}g{HEX[31:]}", id="other-letter-in-the-middle"),
        pytest.param(f"sha256:{HEX[:-1]}٣", id="digit-of-another-script"),
        pytest.param(f"sha256:{HEX}, sha256:{HEX}", id="sent-twice"),
    ],
)
def test_anything_else_is_no_digest(text: str) -> None:
    with pytest.raises(Refused, match="no digest"):
        parse_digest(text)


@pytest.mark.parametrize("value", [None, 7, b"ab", HEX[:-1], f"{HEX[:-1]}G", f"sha256:{HEX}"])
def test_a_bare_digest_is_64_small_hex(value: object) -> None:
    assert parse_hex(HEX) == HEX
    with pytest.raises(Refused, match="no bare digest"):
        parse_hex(value)


@pytest.mark.parametrize(
    ("text", "length", "answer"),
    [
        ("", 0, True),
        ("0", 1, True),
        ("f", 1, True),
        ("g", 1, False),
        ("F", 1, False),
        ("0f", 1, False),
        ("é", 1, False),
    ],
)
def test_is_hex(text: str, length: int, answer: bool) -> None:
    assert is_hex(text, length) is answer
