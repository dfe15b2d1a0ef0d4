"""Canary arithmetic: which part of [0, 1) a rule owns, and where in it a key falls (design section 6).

No state and no chance: the same key on every gateway of one generation falls into the same slice.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from hashlib import sha256

_BYTES = 8
_SPARE_BITS = 11
_STEPS = 2**53


def bucket(salt: str, model_id: str, key: str) -> float:
    """Place a key in [0, 1): the first 8 bytes of sha256(salt + model id + key), big-endian, over 2**64.

    Args:
        salt: The route's; changing it deals all keys anew.
        model_id: Keeps the same key independent between models.
        key: The sticky key, or the request id.
    """
    # A key comes from a client's header; a lone surrogate in it is no reason to fail.
    digest = sha256(f"{salt}{model_id}{key}".encode("utf-8", "surrogatepass")).digest()
    # A float holds 53 bits: all 64 would round the highest keys up to 1.0, which no slice owns.
    return (int.from_bytes(digest[:_BYTES]) >> _SPARE_BITS) / _STEPS


def slices(percentages: Sequence[float]) -> tuple[tuple[float, float], ...]:
    """Give each rule its half-open slice (low, high) of [0, 1), in the order of the rules.

    The first rule grows upwards from 0, the second downwards from 1, and so on in turn: with one rule or two, raising
    one percentage moves no key of the other rule, and no key leaves the rule that grew. 100 is all, 0 is nothing.

    Args:
        percentages: 0 to 100 each, at most 100 in sum.

    Raises:
        ValueError: One is out of range, or their sum is.
    """
    shares = [Fraction(repr(float(percentage))) / 100 for percentage in percentages]
    if any(share < 0 for share in shares) or sum(shares) > 1:
        raise ValueError("The percentages of canary rules are 0 or more, and at most 100 in sum.")
    bottom, top = Fraction(0), Fraction(1)
    owned = []
    for place, share in enumerate(shares):
        if place % 2 == 0:
            owned.append((float(bottom), float(bottom + share)))
            bottom += share
        else:
            owned.append((float(top - share), float(top)))
            top -= share
    return tuple(owned)


def exact_sum(percentages: Sequence[float]) -> Fraction:
    """Add percentages as they are written: 33.3 + 33.3 + 33.4 is 100, not a little more."""
    return sum((Fraction(repr(float(percentage))) for percentage in percentages), Fraction(0))
