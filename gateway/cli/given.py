"""Documents as a command line names them: files, folders laid out like the keys, exports, standard input, a place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from contracts.contract import Contract, parse_contract
from contracts.faults import DocumentRefused, Fault, did_you_mean
from contracts.key import DocumentKey, KeyRefused
from contracts.reading import read
from contracts.route import Route, parse_route
from gateway.cli.files import STANDARD_INPUT, read_bytes
from gateway.cli.output import Stop
from gateway.edits.export import ExportUnreadable, document_key, is_export, read_export
from gateway.edits.place import Holding
from gateway.signers import Signers
from gateway.sources.paths import TOP_FOLDERS, is_passed_over, parse_path

_OF_A_ROUTE = {field.alias or name for name, field in Route.model_fields.items()}
_OF_A_CONTRACT = {field.alias or name for name, field in Contract.model_fields.items()} - _OF_A_ROUTE


@dataclass(frozen=True, slots=True)
class Given:
    """One text. `place` is its path below `contracts/` or `routes/` where it lies under one, that word included."""

    name: str
    place: str | None
    text: bytes


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault of one text."""

    file: str
    fault: Fault


@dataclass(frozen=True, slots=True)
class Read:
    """One document that could be read."""

    file: str
    key: DocumentKey
    text: bytes
    value: Contract | Route


def given_files(files: Iterable[Path]) -> Iterator[Given]:
    """Read files; folders and exports are unfolded.

    Raises:
        Stop: One of them cannot be read.
    """
    for path in files:
        if path != STANDARD_INPUT and path.is_dir():
            for found in sorted(path.rglob("*")):
                if found.is_file() and not _is_other(found, path):
                    place = _place(found.relative_to(path)) or _guessed_place(found)
                    yield Given(str(found), place, read_bytes(found))
            continue
        text = read_bytes(path)
        if is_export(text):
            yield from _unfolded(path, text)
        else:
            yield Given(str(path), _guessed_place(path), text)


def given_place(holding: Holding) -> Iterator[Given]:
    """Take everything a place holds."""
    for key, held in holding.documents.items():
        yield Given(held.origin, key, held.text)


def read_given(
    texts: Iterable[Given], signers: Signers = (), *, findings: list[Finding], strange: bool = True
) -> Iterator[Read]:
    """Read documents; what is wrong with them goes to `findings`.

    Args:
        texts: What to read.
        signers: Keys of which one must have signed each.
        findings: Takes faults and warnings.
        strange: Without it, what is odd and accepted is not told.
    """
    for one in texts:
        try:
            key = parse_path(one.place) if one.place else None
            is_route = key.kind == "route" if key else _looks_like_a_route(one.text)
            parse = parse_route if is_route else parse_contract
            value = parse(one.text, key=key, signers=signers)
        except DocumentRefused as refused:
            findings.extend(Finding(one.name, fault) for fault in refused.faults)
            continue
        except KeyRefused as refused:
            findings.append(Finding(one.name, Fault("", str(refused))))
            continue
        yield Read(one.name, key or own_key(value), one.text, value)
        if strange:
            findings.extend(Finding(one.name, fault) for fault in value.warnings)


def own_key(value: Contract | Route) -> DocumentKey:
    """The key under which a document belongs."""
    if isinstance(value, Contract):
        return DocumentKey("contract", value.model_id, value.version)
    return DocumentKey("route", value.model_id)


def _unfolded(path: Path, text: bytes) -> Iterator[Given]:
    try:
        values = read_export(text)
    except ExportUnreadable as error:
        raise Stop(f"{path}: {error}") from error
    for key, value in values.items():
        if (place := document_key(key)) is not None:
            yield Given(f"{path}:{key}", place, value)


def _place(file: Path) -> str | None:
    parts = file.parts[1:] if file.parts[0] == "inference" else file.parts
    return "/".join(parts) if parts[0] in TOP_FOLDERS else None


def _is_other(file: Path, folder: Path) -> bool:
    return any(is_passed_over(part) for part in file.relative_to(folder).parts)


def _guessed_place(path: Path) -> str | None:
    """Read the place off a single file's path where that looks like one; a folder may well be called `contracts`."""
    parts = path.parts
    for index, part in enumerate(parts[:-1]):
        if part in TOP_FOLDERS:
            place = "/".join(parts[index:])
            try:
                parse_path(place)
            except KeyRefused:
                continue
            return place
    return None


def _looks_like_a_route(text: bytes) -> bool:
    """Guess by names: one that is a contract's alone, or nearly so, makes it a contract, whatever it lacks."""
    strange = read(text).value.keys() - _OF_A_ROUTE
    return not any(name in _OF_A_CONTRACT or did_you_mean(name, _OF_A_CONTRACT) for name in strange)
