"""Explains a difference of weights by their tensors; it never decides (dna.md section 3)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import cast

from inference_dna.canonical import Json, Refused
from inference_dna.difference.change import Change, How, Kind
from inference_dna.digest import ALGORITHM
from inference_dna.files import TensorEntry, tensors_digest

DIGEST, LIST = "tensors", "tensor_list"
"""Members of the weights' evidence: the digest over all tensors, and where wanted each of them."""

_SAME = "the same tensors in other files, or beside other files"
_HEX_SHOWN = 12


def tensor_list(entries: Iterable[TensorEntry]) -> list[Json]:
    """Write tensors as evidence, in the order of the digest."""
    return [
        {"name": entry.name, "dtype": entry.dtype, "shape": list(entry.shape), "sha256": entry.sha256}
        for entry in sorted(entries, key=lambda entry: entry.name)
    ]


def tensor_changes(before: Mapping[str, Json], after: Mapping[str, Json]) -> Iterator[Change]:
    """Compare the evidence of two weights sections, where both sides hashed tensors.

    Equal digests say: the same tensors in other files. Different ones are told tensor by tensor where both sides list
    them and the lists are what the digests cover.
    """
    first, second = before.get(DIGEST), after.get(DIGEST)
    if first is None or second is None:
        return
    if first == second:
        yield Change(Kind.TENSORS, How.REPACKAGED, DIGEST, first, second, _SAME)
        return
    old, new = _listed(before), _listed(after)
    if old is None or new is None:
        yield Change(Kind.TENSORS, How.CHANGED, DIGEST, first, second, "which ones was not recorded")
        return
    yield from _one_by_one(old, new)


def _one_by_one(first: Mapping[str, TensorEntry], second: Mapping[str, TensorEntry]) -> Iterator[Change]:
    for name in sorted({*first, *second}):
        old, new = first.get(name), second.get(name)
        if old is None or new is None:
            how = How.ADDED if old is None else How.REMOVED
            yield Change(Kind.TENSORS, how, name, _told(old), _told(new))
        elif old != new:
            yield Change(Kind.TENSORS, How.CHANGED, name, _told(old), _told(new))


def _told(entry: TensorEntry | None) -> Json:
    return None if entry is None else f"{entry.dtype} {list(entry.shape)} {entry.sha256[:_HEX_SHOWN]}"


def _listed(evidence: Mapping[str, Json]) -> dict[str, TensorEntry] | None:
    """The list by name; None where there is none, or it is not what the digest covers: evidence may be edited."""
    found = evidence.get(LIST)
    if not isinstance(found, list):
        return None
    try:
        entries = [_entry(cast("Mapping[str, Json]", each)) for each in found]
        covered = ALGORITHM + tensors_digest(entries)
    except (Refused, AttributeError, KeyError, TypeError):
        return None
    return {entry.name: entry for entry in entries} if covered == evidence.get(DIGEST) else None


def _entry(members: Mapping[str, Json]) -> TensorEntry:
    name, dtype, digest = (cast("str", members[member]) for member in ("name", "dtype", "sha256"))
    return TensorEntry(name, dtype, tuple(cast("list[int]", members["shape"])), digest)
