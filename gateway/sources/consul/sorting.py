"""Which keys of Consul are documents, and under which name: pure (reference page `consul`, section 2)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from contracts.key import KeyRefused, parse_key
from gateway.sources.consul.replies import Entry
from gateway.sources.reading import DocumentFault, DocumentText

_OURS = ("contracts/", "routes/")


@dataclass(frozen=True, slots=True)
class Sorted:
    """What Consul holds, sorted.

    Attributes:
        documents: By document key.
        faults: By document key, or by Consul's key where that names no document.
        ignored: How many keys are none of ours.
        names: By Consul's key: the document it names. Kept, because reading ten thousand keys anew takes its time.
        places: By document key: Consul's keys that name it, more than one where two spellings of a version do.
    """

    documents: Mapping[str, DocumentText]
    faults: Mapping[str, DocumentFault]
    places: Mapping[str, tuple[str, ...]]
    names: Mapping[str, str]
    ignored: int


NOTHING = Sorted({}, {}, {}, {}, 0)


def sort_out(
    entries: Iterable[Entry],
    root: str,
    *,
    before: Sorted,
    known: Collection[str],
    max_document: int,
) -> Sorted:
    """Sort keys into documents and faults.

    Args:
        entries: Keys below `root`.
        root: Prefix that is no part of a document's key, with its slash.
        before: What the last sorting gave; a text that stands is handed out as the same object.
        known: Document keys that were there before. An empty value is a fault for these, else a folder marker.
        max_document: Largest document, in bytes.
    """
    found: defaultdict[str, list[Entry]] = defaultdict(list)
    faults: dict[str, DocumentFault] = {}
    names: dict[str, str] = {}
    ignored = 0
    for entry in entries:
        try:
            key = before.names.get(entry.key) or str(parse_key(entry.key.removeprefix(root)))
        except KeyRefused as error:
            if entry.value is None or entry.key.endswith("/"):
                continue  # a folder marker of the Consul UI
            if entry.key.removeprefix(root).startswith(_OURS):
                faults[entry.key] = DocumentFault(entry.key, str(error))
            else:
                ignored += 1
            continue
        names[entry.key] = key
        if entry.value is not None or key in known:
            found[key].append(entry)
    documents: dict[str, DocumentText] = {}
    for key, named in found.items():
        taken = _take(key, named, before.documents.get(key), max_document)
        if isinstance(taken, DocumentText):
            documents[key] = taken
        else:
            faults[key] = taken
    places = {key: tuple(entry.key for entry in named) for key, named in found.items()}
    return Sorted(documents, faults, places, names, ignored)


def _take(key: str, named: list[Entry], before: DocumentText | None, max_document: int) -> DocumentText | DocumentFault:
    origins = " and ".join(sorted(entry.key for entry in named))
    if len(named) > 1:
        return DocumentFault(origins, f"more than one key for this document: {origins}; keep one of them")
    value = named[0].value
    if value is None:
        return DocumentFault(origins, "its value is empty; write the document, or delete the key to remove it")
    if len(value) > max_document:
        return DocumentFault(origins, f"has {len(value)} bytes, more than the {max_document} a document may have")
    if before is not None and before.text == value and before.origin == origins:
        return before
    return DocumentText(key, value, origins)
