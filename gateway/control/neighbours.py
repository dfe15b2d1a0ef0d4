"""Which documents have to be checked against each other after an edit: pure.

Findings about a set of documents join those of one model, and those that state the same digest or the same address. So
an edit of one document among ten thousand is checked against its neighbours and theirs, and not against all: half a
second of computing, during which an edit would wait, becomes a few milliseconds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from contracts.contract import Contract
from contracts.route import Route


def neighbours(before: Iterable[Contract | Route], after: Mapping[str, Contract | Route]) -> frozenset[str]:
    """List every document that findings can be about after a change.

    Args:
        before: What changed, came or left, as it was and as it is.
        after: All documents there are now, by key.

    Returns:
        Keys of `after`, closed: no document outside shares a model, a digest or an address with one of them.
    """
    sharing: defaultdict[str, list[str]] = defaultdict(list)
    for key, value in after.items():
        for word in _words(value):
            sharing[word].append(key)
    waiting = [word for value in before for word in _words(value)]
    found: set[str] = set()
    while waiting:
        for key in sharing.pop(waiting.pop(), ()):
            if key not in found:
                found.add(key)
                waiting.extend(_words(after[key]))
    return frozenset(found)


def _words(value: Contract | Route) -> Iterator[str]:
    """What joins a document with others; that a model may be named like an address joins too many, which is no harm."""
    yield value.model_id
    if isinstance(value, Contract):
        yield from value.instances
        yield from (entry.digest for entry in value.dna if entry.digest is not None)
