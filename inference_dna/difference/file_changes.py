"""Compares two lists of files: what was added, removed, changed, renamed or swapped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from inference_dna.canonical import Json
from inference_dna.difference.change import Change, How, Kind
from inference_dna.files import FileEntry, parse_files

_HEX_SHOWN = 12


def file_changes(before: Json, after: Json) -> tuple[Change, ...]:
    """Compare the `files` members of one section.

    Args:
        before: A list of file entries; None where that side has none.
        after: As `before`.

    Raises:
        Refused: One of the two is no list of file entries.
    """
    first, second = _by_name(before), _by_name(after)
    return tuple(sorted(_compared(first, second), key=lambda change: change.name))


def _compared(first: Mapping[str, FileEntry], second: Mapping[str, FileEntry]) -> Iterator[Change]:
    gone, come = set(first) - set(second), set(second) - set(first)
    for old, new in _renamed({name: first[name] for name in gone}, {name: second[name] for name in come}):
        gone.discard(old)
        come.discard(new)
        yield Change(Kind.FILE, How.RENAMED, old, old, new, "the content is the same")
    for name in gone:
        yield Change(Kind.FILE, How.REMOVED, name, before=first[name].document())
    for name in come:
        yield Change(Kind.FILE, How.ADDED, name, after=second[name].document())
    for name in set(first) & set(second):
        if first[name] != second[name]:
            yield _changed(first, second, name)


def _renamed(gone: Mapping[str, FileEntry], come: Mapping[str, FileEntry]) -> Iterator[tuple[str, str]]:
    by_content: dict[tuple[str, int], list[str]] = {}
    for name in sorted(come):
        by_content.setdefault(_content(come[name]), []).append(name)
    for name in sorted(gone):
        names = by_content.get(_content(gone[name]))
        if names:
            yield name, names.pop(0)


def _changed(first: Mapping[str, FileEntry], second: Mapping[str, FileEntry], name: str) -> Change:
    old, new = first[name], second[name]
    source = next((other for other, entry in sorted(first.items()) if _content(entry) == _content(new)), None)
    sizes = f"{old.size} bytes" if old.size == new.size else f"{old.size} -> {new.size} bytes"
    detail = (
        f"it now holds what was {source}"
        if source is not None
        else f"{sizes}, sha256 {old.sha256[:_HEX_SHOWN]} -> {new.sha256[:_HEX_SHOWN]}"
    )
    return Change(Kind.FILE, How.CHANGED, name, old.document(), new.document(), detail)


def _content(entry: FileEntry) -> tuple[str, int]:
    return entry.sha256, entry.size


def _by_name(value: Json) -> dict[str, FileEntry]:
    return {} if not value else {entry.name: entry for entry in parse_files(value)}
