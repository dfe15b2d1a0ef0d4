"""`dna contract apply`, `diff`, `import` and `export`: documents of files to a place and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import typer

from gateway.cli.given import Finding, given_files, read_given
from gateway.cli.lint import print_findings
from gateway.cli.options import Manner
from gateway.cli.output import FASTER, FINDINGS, WRONG_USAGE, Format, Stop, print_as
from gateway.cli.places import open_place
from gateway.cli.proposal import fields_of, print_fields
from gateway.cli.propose import reached, write_documents
from gateway.edits.difference import Difference, differences
from gateway.edits.export import write_export
from gateway.edits.place import Change, Holding

Texts = Mapping[str, bytes]


def apply(files: Sequence[Path], manner: Manner, *, index: str | None, delete: bool) -> None:
    """Write documents where they differ from what lies there.

    Args:
        files: Files, folders, exports, or `-`.
        manner: How.
        index: What the one document was when it was read; another one now is not overwritten.
        delete: Delete what lies there and is not among the files.

    Raises:
        Stop: As `write_documents`; or a file is no good document.
    """
    texts = _texts(files, manner.output)
    if index is not None and len(texts) != 1:
        raise Stop(f"--index says what one document was when it was read; these are {len(texts)}", WRONG_USAGE)

    def propose(holding: Holding) -> list[Change]:
        if index is not None:
            _check_index(holding, next(iter(texts)), index)
        changes = [change_to(holding, key, text) for key, text in texts.items()]
        gone = [key for key in holding.documents if key not in texts] if delete else []
        return changes + [Change(key, holding.documents[key], None) for key in gone]

    write_documents(manner, propose)


def change_to(holding: Holding, key: str, text: bytes | None) -> Change:
    """Give the change that brings a document to this text.

    Raises:
        Stop: The document cannot be read where it lies, so nobody knows what would be overwritten.
    """
    fault = holding.faults.get(key)
    if fault is not None:
        raise Stop(f"{key} cannot be written: {fault.message}")
    return Change(key, holding.documents.get(key), text)


def diff(older: Path | None, newer: Path, source: str | None, *, output: Format) -> None:
    """Say what differs, field by field, between a place or older files and newer files.

    Raises:
        Stop: With exit code 3 where anything does.
    """
    after = _texts([newer], output)
    if older is not None:
        before: Texts = _texts([older], output)
    else:
        before = {key: held.text for key, held in reached(open_place(source).read).documents.items()}
    is_whole = newer.is_dir() and (older is None or older.is_dir())
    keys = sorted(before.keys() | after.keys()) if is_whole else sorted(after)
    found = {key: differences(before.get(key), after.get(key)) for key in keys}
    _print_differences({key: fields for key, fields in found.items() if fields}, output)


def export(source: str | None) -> None:
    """Print every document as `consul kv export` does.

    Raises:
        Stop: The place cannot be read.
    """
    place = open_place(source)
    documents = reached(place.read).documents
    typer.echo(write_export({place.prefix + key: held.text for key, held in documents.items()}), nl=False)


def _texts(files: Sequence[Path], output: Format) -> dict[str, bytes]:
    """Read documents by key.

    Raises:
        Stop: One is no good document, or two are of one key.
    """
    findings: list[Finding] = []
    documents = list(read_given(given_files(files), findings=findings, strange=False))
    if findings:
        print_findings(findings, output)
        raise Stop("nothing was written or compared: the gateway would refuse this", FINDINGS)
    texts: dict[str, bytes] = {}
    for one in documents:
        if str(one.key) in texts:
            raise Stop(f"{one.file} is {one.key}, and so is another of these files; keep one of them", WRONG_USAGE)
        texts[str(one.key)] = one.text
    if not texts:
        raise Stop(f"there is no document in {', '.join(map(str, files))}", WRONG_USAGE)
    return texts


def _check_index(holding: Holding, key: str, index: str) -> None:
    held = holding.documents.get(key)
    now = held.stamp if held else "0"
    if now != index:
        raise Stop(
            f"{key} is at index {now} now, and was read at {index}: somebody was faster; nothing was overwritten. "
            f"Read it again (dna contract get), take over what changed, and apply with --index {now}",
            FASTER,
        )


def _print_differences(found: Mapping[str, Sequence[Difference]], output: Format) -> None:
    if output is not Format.TABLE:
        print_as(output, [{"key": key, "fields": fields_of(fields)} for key, fields in found.items()])
    else:
        for key, fields in found.items():
            typer.echo(f"{key}:")
            print_fields(fields)
    if found:
        raise Stop(code=FINDINGS)
    typer.echo("nothing differs", err=True)
