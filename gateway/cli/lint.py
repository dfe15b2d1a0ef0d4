"""`dna contract lint` and `dna schema`: the same reading and checking that the gateway does, before it has to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files as resources
from pathlib import Path

import typer

from contracts.contract import Contract, parse_contract
from contracts.document_set import check_set
from contracts.faults import DocumentRefused, Fault
from contracts.key import DocumentKey, KeyRefused
from contracts.reading import read
from contracts.route import Route, parse_route
from gateway.cli.files import STANDARD_INPUT, read_bytes
from gateway.cli.output import FINDINGS, WRONG_USAGE, Format, Stop, print_json, print_table
from gateway.sources.paths import TOP_FOLDERS, is_passed_over, parse_path

KINDS = ("contract", "route")


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault of one file."""

    file: str
    fault: Fault


@dataclass(frozen=True, slots=True)
class Read:
    """One document that could be read."""

    file: str
    key: DocumentKey
    value: Contract | Route


def lint_files(files: Sequence[Path], *, strict: bool, output: Format) -> None:
    """Check documents and print what was found.

    Raises:
        Stop: With exit code 3 where there are errors, or with `strict` also warnings.
    """
    documents: list[Read] = []
    findings: list[Finding] = []
    for path, place in _documents(files):
        _read(path, place, documents, findings)
    is_whole = any(path.is_dir() for path in files)
    findings.extend(_together(documents, is_whole=is_whole))
    _print(findings, output)
    errors = sum(finding.fault.severity == "error" for finding in findings)
    warnings = len(findings) - errors
    typer.echo(f"{len(documents)} good, {errors} errors, {warnings} warnings", err=True)
    if errors or (strict and warnings):
        raise Stop(code=FINDINGS)


def _documents(files: Iterable[Path]) -> Iterator[tuple[Path, str | None]]:
    """Name the files, folders unfolded, each with its path in a folder that is laid out like the keys."""
    for path in files:
        if path == STANDARD_INPUT or not path.is_dir():
            yield path, None
            continue
        for found in sorted(path.rglob("*")):
            if found.is_file() and not _is_other(found, path):
                yield found, _place(found.relative_to(path))


def _place(file: Path) -> str | None:
    parts = file.parts[1:] if file.parts[0] == "inference" else file.parts
    return "/".join(parts) if parts[0] in TOP_FOLDERS else None


def _is_other(file: Path, folder: Path) -> bool:
    return any(is_passed_over(part) for part in file.relative_to(folder).parts)


def _read(path: Path, place: str | None, documents: list[Read], findings: list[Finding]) -> None:
    text = read_bytes(path)
    try:
        key = parse_path(place) if place else _guessed_key(path)
        is_route = key.kind == "route" if key else _looks_like_a_route(text)
        value = parse_route(text, key=key) if is_route else parse_contract(text, key=key)
    except DocumentRefused as refused:
        findings.extend(Finding(str(path), fault) for fault in refused.faults)
        return
    except KeyRefused as refused:
        findings.append(Finding(str(path), Fault("", str(refused))))
        return
    found = key or _own_key(value)
    documents.append(Read(str(path), found, value))
    findings.extend(Finding(str(path), fault) for fault in value.warnings)


def _guessed_key(path: Path) -> DocumentKey | None:
    """Read the key off a single file's path where that looks like one; a folder may well be called `contracts`."""
    parts = path.parts
    for index, part in enumerate(parts[:-1]):
        if part in TOP_FOLDERS:
            try:
                return parse_path("/".join(parts[index:]))
            except KeyRefused:
                continue
    return None


def _looks_like_a_route(text: bytes) -> bool:
    return "version" not in read(text).value


def _own_key(value: Contract | Route) -> DocumentKey:
    if isinstance(value, Contract):
        return DocumentKey("contract", value.model_id, value.version)
    return DocumentKey("route", value.model_id)


def _together(documents: Sequence[Read], *, is_whole: bool) -> Iterator[Finding]:
    """Check the documents against each other; two of one key are a finding of their own.

    What a single file points at may well be in another: only a whole folder shows that it points nowhere.
    """
    by_key: dict[DocumentKey, Read] = {}
    for document in documents:
        first = by_key.setdefault(document.key, document)
        if first is not document:
            yield Finding(document.file, Fault("", f"this is {document.key}, and so is {first.file}; keep one of them"))
    contracts = {key: one.value for key, one in by_key.items() if isinstance(one.value, Contract)}
    routes = {key: one.value for key, one in by_key.items() if isinstance(one.value, Route)}
    found = check_set(contracts, routes, in_force=())
    warnings = found.warnings if is_whole else {}
    for key, faults in (*found.refused.items(), *warnings.items()):
        yield from (Finding(by_key[key].file, fault) for fault in faults)


def _print(findings: Sequence[Finding], output: Format) -> None:
    if output is Format.JSON:
        print_json(
            [
                {"file": one.file, "path": one.fault.path, "severity": one.fault.severity, "message": one.fault.message}
                for one in findings
            ]
        )
    elif findings:
        rows = [(one.file, one.fault.severity, one.fault.path or "-", one.fault.message) for one in findings]
        print_table(("FILE", "SEVERITY", "WHERE", "WHAT"), rows, bad=("error",))


def print_schema(kind: str) -> None:
    """Print the JSON Schema of `contract` or `route` documents.

    Raises:
        Stop: There is no such document.
    """
    if kind not in KINDS:
        raise Stop(f"there is no schema {kind!r}; name contract or route", WRONG_USAGE)
    schema = resources("contracts") / "schema" / f"{kind}.schema.json"
    typer.echo(schema.read_text(encoding="utf-8"), nl=False)
