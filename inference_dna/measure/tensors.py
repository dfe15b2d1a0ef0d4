"""The tensor digest of safetensors files (dna.md section 3): it explains a difference, it never decides one.

It survives re-sharding, re-packing and changed headers, so it can say of two models whose files differ that they hold
the same tensors: repackaged, and a mismatch all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import BinaryIO

from inference_dna.canonical import Json
from inference_dna.digest import ALGORITHM
from inference_dna.files import TensorEntry, tensors_digest
from inference_dna.measure.hashing import SMALL_BYTES, run_all
from inference_dna.measure.parts import Looked
from inference_dna.measure.reading import (
    CHUNK_BYTES,
    OnBytes,
    check_unchanged,
    open_regular,
    read_into,
    reading_errors,
)
from inference_dna.measure.safetensors import SafetensorsFile, TensorPlace
from inference_dna.measure.work import Tally, Work


def hash_tensors(looked: Mapping[str, Looked], work: Work) -> tuple[TensorEntry, ...] | None:
    """Hash every tensor of the safetensors files, one large one or a run of small ones per thread.

    Args:
        looked: The weight files as they were looked into.
        work: How.

    Returns:
        Entries sorted by name; None where no file is safetensors, or two files hold different tensors of one name.

    Raises:
        Refused: A file cannot be read or is not in the state it was looked into.
    """
    jobs = [
        (run[-1].end - run[0].start, _job(file, run))
        for file in looked.values()
        if isinstance(file.part.inside, SafetensorsFile)
        for run in _runs(file.part.inside.places)
    ]
    if not jobs:
        return None
    tally = Tally(sum(size for size, _ in jobs), work.watch, what="tensors")
    return _united(entry for entries in run_all(jobs, work.thread_count, tally) for entry in entries)


def tensors_evidence(tensors: Sequence[TensorEntry] | None) -> dict[str, Json]:
    """The member `tensors` of the weights' evidence; nothing where no tensors were hashed."""
    return {} if tensors is None else {"tensors": ALGORITHM + tensors_digest(tensors)}


def _united(entries: Iterable[TensorEntry]) -> tuple[TensorEntry, ...] | None:
    """A model may lie in one folder twice, whole and in shards; that is one set of tensors if they agree."""
    by_name: dict[str, TensorEntry] = {}
    for entry in entries:
        if by_name.setdefault(entry.name, entry) != entry:
            return None
    return tuple(by_name[name] for name in sorted(by_name))


def _runs(places: Sequence[TensorPlace]) -> Iterator[Sequence[TensorPlace]]:
    """Cut the tensors of a file, which follow one another, into runs: opening a file for each of many costs more."""
    first = 0
    for place, tensor in enumerate(places):
        if place > first and tensor.end - places[first].start > SMALL_BYTES:
            yield places[first:place]
            first = place
    if places:
        yield places[first:]


def _job(file: Looked, run: Sequence[TensorPlace]) -> Callable[[OnBytes], list[TensorEntry]]:
    return lambda on_bytes: _hash(file, run, on_bytes)


def _hash(file: Looked, run: Sequence[TensorPlace], on_bytes: OnBytes) -> list[TensorEntry]:
    name, longest = file.found.name, max(place.end - place.start for place in run)
    buffer = memoryview(bytearray(min(CHUNK_BYTES, max(longest, 1))))
    with reading_errors(f"the file {name!a}"), open_regular(file.found.path, name) as stream:
        check_unchanged(stream, name, file.state)
        stream.seek(run[0].start)
        # The file holds little-endian bytes in C order already, which is what the digest is over.
        entries = [
            TensorEntry(place.name, place.dtype, place.shape, _hash_next(stream, place, buffer, on_bytes))
            for place in run
        ]
        check_unchanged(stream, name, file.state)
    return entries


def _hash_next(stream: BinaryIO, place: TensorPlace, buffer: memoryview, on_bytes: OnBytes) -> str:
    hasher, left = sha256(), place.end - place.start
    while left > 0 and (count := read_into(stream, buffer[:left])):
        hasher.update(buffer[:count])
        left -= count
        on_bytes(count)
    return hasher.hexdigest()
