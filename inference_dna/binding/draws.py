"""Draws for the sampled step of a packed generator, made from a seed: no generator that requests share is touched."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from itertools import count

_DOMAIN = "inference-dna/1/draw"
_DRAW_BITS = 24
"""As many as a float32 holds exactly below 1, so that no draw is rounded up to 1 on its way into a tensor."""


def draws(seed: int) -> Iterator[float]:
    """Give numbers in [0, 1) without end; the same seed gives the same ones in every process and language.

    Draw i is the first 24 bits, as a fraction, of the sha256 over three lines: `inference-dna/1/draw`, the seed, i;
    both in decimal, the last line without its end.
    """
    for place in count():
        digest = sha256(f"{_DOMAIN}\n{seed}\n{place}".encode()).digest()
        yield int.from_bytes(digest[: _DRAW_BITS // 8], "big") / 2**_DRAW_BITS
