"""Shards by their names: `model-00002-of-00005.safetensors` is the second of five."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from inference_dna.canonical import Refused

_PATTERN = re.compile(r"(?P<stem>.*-)(?P<number>\d{5,6})-of-(?P<count>\d{5,6})(?P<suffix>\.[A-Za-z0-9.]+)", re.DOTALL)
_MOST_SHARDS = 100_000
_NAMES_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Shard:
    """One shard, from 1 to `count`; `stem` is all before its number, the folder included."""

    stem: str
    number: int
    count: int
    digits: int
    suffix: str

    def siblings(self) -> tuple[str, ...]:
        """Names of all shards of the set, this one included, in order."""
        count = f"{self.count:0{self.digits}d}"
        return tuple(
            f"{self.stem}{number:0{self.digits}d}-of-{count}{self.suffix}" for number in range(1, self.count + 1)
        )


def shard_of(name: str) -> Shard | None:
    """Read a file's name; None where it is no shard's."""
    found = _PATTERN.fullmatch(name)
    if found is None or len(found["number"]) != len(found["count"]):
        return None
    number, count = int(found["number"]), int(found["count"])
    if not 1 <= number <= count <= _MOST_SHARDS:
        return None
    return Shard(found["stem"], number, count, len(found["number"]), found["suffix"])


def check_shard_sets(names: Iterable[str]) -> None:
    """Refuse a set of shards of which one is missing, with an index or without.

    Args:
        names: Names of all weight files.

    Raises:
        Refused: As said; the sentence names the missing files.
    """
    present = set(names)
    firsts = {replace(shard, number=1) for name in present if (shard := shard_of(name)) is not None}
    for shards in sorted(first.siblings() for first in firsts):
        missing = [name for name in shards if name not in present]
        if missing:
            more = f" and {len(missing) - _NAMES_SHOWN} more" if len(missing) > _NAMES_SHOWN else ""
            listed = ", ".join(map(ascii, missing[:_NAMES_SHOWN])) + more
            raise Refused(f"A set of {len(shards)} shards is not complete; missing: {listed}.")
