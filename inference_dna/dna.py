"""The 16-character label: segments, strand, distance (dna.md sections 4 and 10).

Every function here runs once or more per request, so none uses a pattern.
"""

from __future__ import annotations

from hashlib import sha256
from operator import ne
from typing import Final

from inference_dna.canonical import Refused
from inference_dna.digest import HEX_LENGTH, is_hex
from inference_dna.headers import FORMAT_NAME

DNA_LENGTH: Final = 16
RUNTIME_LENGTH: Final = 8
"""The first 8 characters name the runtime; the rest is the strand of one request."""

_REQUEST = f"{FORMAT_NAME}/request\n"


def strand(runtime: str, input_hash: str) -> str:
    """Compute the last 8 characters of a DNA.

    Args:
        runtime: Runtime digest, 64 bare hex.
        input_hash: 64 bare hex, or the empty text where no input was hashed.

    Raises:
        Refused: One of the two is anything else; the 12 hex that people are shown are not enough to hash.
    """
    if not is_hex(runtime, HEX_LENGTH):
        raise Refused(f"{runtime!a} is no runtime digest; write 64 of 0-9 a-f.")
    if input_hash and not is_hex(input_hash, HEX_LENGTH):
        raise Refused(f"{input_hash!a} is no input hash; write 64 of 0-9 a-f, or nothing.")
    return sha256(f"{_REQUEST}{runtime}\n{input_hash}".encode()).hexdigest()[:8]


class Strands:
    """The strands of one runtime: what their texts begin with is hashed once.

    Raises:
        Refused: The runtime digest is no 64 bare hex.
    """

    __slots__ = ("_begun",)

    def __init__(self, runtime: str) -> None:
        if not is_hex(runtime, HEX_LENGTH):
            raise Refused(f"{runtime!a} is no runtime digest; write 64 of 0-9 a-f.")
        self._begun = sha256(f"{_REQUEST}{runtime}\n".encode())

    def of(self, input_hash: bytes) -> bytes:
        """Compute the last 8 characters of a DNA from an input hash as it was sent, which is not looked at first."""
        begun = self._begun.copy()
        begun.update(input_hash)
        return begun.hexdigest()[:8].encode()


def parse_dna(text: str) -> str:
    """Return the text if it is a DNA, 16 of 0-9 a-f.

    Raises:
        Refused: The text is anything else.
    """
    if not is_hex(text, DNA_LENGTH):
        raise Refused(f"{text!a} is no DNA; write 16 of 0-9 a-f.")
    return text


def is_dna(text: str) -> bool:
    """Say whether the text is a DNA."""
    return is_hex(text, DNA_LENGTH)


def parse_dna_prefix(text: str) -> str:
    """Return the text if it is a DNA prefix, 1 to 8 of 0-9 a-f.

    Raises:
        Refused: The text is anything else; a ninth character would reach into the strand.
    """
    if not 1 <= len(text) <= RUNTIME_LENGTH or not is_hex(text, len(text)):
        raise Refused(f"{text!a} is no DNA prefix; write 1 to 8 of 0-9 a-f.")
    return text


def distance(a: str, b: str) -> int:
    """Count the differing places among the first 8 characters of two DNAs.

    Raises:
        Refused: One of the two is no DNA.
    """
    first, second = parse_dna(a)[:RUNTIME_LENGTH], parse_dna(b)[:RUNTIME_LENGTH]
    return 0 if first == second else sum(map(ne, first, second))


def frame(dna: str) -> bytes:
    """The first 8 characters as the 4 bytes a streamed frame carries (dna.md section 7).

    Raises:
        Refused: The text is no DNA.
    """
    return bytes.fromhex(parse_dna(dna)[:RUNTIME_LENGTH])


def common_prefix(a: str, b: str) -> int:
    """Count how many characters two DNAs or prefixes share at their beginning."""
    for place, (first, second) in enumerate(zip(a, b, strict=False)):
        if first != second:
            return place
    return min(len(a), len(b))
