"""Seeded byte mutations against both parsers: `python -m tests.fuzz.mutate --seconds 60 --seed 1`.

Any crash, hang, reading that depends on segmentation, reading that llhttp does not share, or byte that crosses from one
message into another is a failure. A failure prints the bytes and the seed that made them.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from tests.fuzz.answers import ANSWERS, check_answers
from tests.fuzz.requests import REQUESTS, check_requests

SLOW_S = 2.0
"""A single input that takes longer hangs the gateway for everybody."""

WORDS = [
    b"\r\n", b"\n", b"\r", b"\0", b" ", b"\t", b":", b";", b",", b"0", b"0\r\n\r\n", b"\r\n\r\n", b"\x80", b"\x7f",
    b"Content-Length: 5\r\n", b"Content-Length: 0\r\n", b"Transfer-Encoding: chunked\r\n", b"Host: b\r\n",
    b"Connection: close\r\n", b"Connection: Upgrade\r\nUpgrade: h2c\r\n", b"Expect: 100-continue\r\n",
    b"HTTP/1.0", b"HTTP/1.1", b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", b"chunked", b"3\r\nabc\r\n", b"FFFFFFFFFFFFFFFF",
    b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 204 X\r\n\r\n", b" 101 ", b" 304 ", b"_", b"-",
]  # fmt: skip


@dataclass(frozen=True)
class Side:
    """One parser: what is mutated, and what must hold of the result."""

    name: str
    seeds: list[bytes]
    check: Callable[[bytes, random.Random], None]


SIDES = [Side("requests", REQUESTS, check_requests), Side("answers", ANSWERS, check_answers)]


def mutated(data: bytes, dice: random.Random, others: list[bytes]) -> bytes:
    """Change some bytes."""
    for _ in range(dice.choice((1, 1, 1, 2, 3, 8))):
        at = dice.randrange(len(data) + 1)
        to = min(len(data), at + dice.choice((1, 1, 2, 4, 16, 64)))
        kind = dice.randrange(8)
        if kind == 0:
            data = data[:at] + bytes((dice.randrange(256),)) + data[at + 1 :]
        elif kind == 1 and at < len(data):
            data = data[:at] + bytes((data[at] ^ (1 << dice.randrange(8)),)) + data[at + 1 :]
        elif kind == 2:
            data = data[:at] + data[to:]
        elif kind == 3:
            data = data[:to] + data[at:]
        elif kind == 4:
            data = data[:at] + dice.choice(WORDS) + data[at:]
        elif kind == 5:
            data = data[:at] + dice.choice(WORDS) + data[to:]
        elif kind == 6:
            other = dice.choice(others)
            data = data[:at] + other[dice.randrange(len(other) + 1) :]
        else:
            data = data[:at] + data[at:to] * dice.choice((2, 3, 50)) + data[to:]
    return data[:100_000]


def run(*, seconds: float, seed: int) -> int:
    """Mutate for so long; gives the number of inputs.

    Raises:
        AssertionError: A rule was broken; the message shows the input.
    """
    dice, count, ends_at = random.Random(seed), 0, time.monotonic() + seconds
    while time.monotonic() < ends_at:
        side = SIDES[count % len(SIDES)]
        data = mutated(dice.choice(side.seeds), dice, side.seeds)
        began = time.monotonic()
        try:
            side.check(data, dice)
        except Exception as error:
            raise AssertionError(f"{side.name}, seed {seed}, input {count}: {error!r}\n{data!r}") from error
        if time.monotonic() - began > SLOW_S:
            raise AssertionError(f"{side.name}, seed {seed}, input {count}: took too long\n{data!r}")
        count += 1
    return count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    count = run(seconds=args.seconds, seed=args.seed)
    sys.stdout.write(f"{count} inputs, seed {args.seed}: no failure\n")


if __name__ == "__main__":
    main()
