"""`dna contract lint` and `dna schema`: the same reading and checking that the gateway does, before it has to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from importlib.resources import files as resources
from pathlib import Path

import typer

from contracts.advice import about_one
from contracts.contract import Contract
from contracts.document_set import check_set
from contracts.faults import Fault
from contracts.key import DocumentKey
from contracts.route import Route
from gateway.cli.given import Finding, Given, Read, given_files, given_place, read_given
from gateway.cli.output import FAILED, FINDINGS, WRONG_USAGE, Format, Stop, counted, print_as, print_table
from gateway.cli.places import open_place, trusted_signers
from gateway.edits.place import PlaceFailed

KINDS = ("contract", "route")


def lint(files: Sequence[Path], source: str | None, *, strict: bool, output: Format) -> None:
    """Check documents and print what was found.

    Args:
        files: What to check.
        source: A place to check as a whole, in place of files.
        strict: Warnings count as findings.
        output: Form of the output.

    Raises:
        Stop: With exit code 3 where there are errors, or with `strict` also warnings.
    """
    if bool(files) == bool(source):
        raise Stop("say what to check: files and folders, - for standard input, or --source PLACE", WRONG_USAGE)
    findings: list[Finding] = []
    texts = _whole_place(source, findings) if source else given_files(files)
    documents = list(read_given(texts, trusted_signers(), findings=findings))
    if files and not documents and not findings:
        raise Stop(f"there is no document in {', '.join(map(str, files))}", WRONG_USAGE)
    is_whole = bool(source) or any(path.is_dir() for path in files)
    findings.extend(_together(documents, is_whole=is_whole))
    print_findings(findings, output)
    errors = sum(finding.fault.severity == "error" for finding in findings)
    warnings = len(findings) - errors
    typer.echo(f"{len(documents)} good, {counted(errors, 'error')}, {counted(warnings, 'warning')}", err=True)
    if errors or (strict and warnings):
        raise Stop(code=FINDINGS)


def _whole_place(source: str, findings: list[Finding]) -> Iterable[Given]:
    try:
        holding = open_place(source).read()
    except PlaceFailed as failed:
        raise Stop(str(failed), FAILED) from failed
    findings.extend(Finding(fault.origin, Fault("", fault.message)) for fault in holding.faults.values())
    return given_place(holding)


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
    warnings = found.warnings if is_whole else {key: tuple(about_one(contract)) for key, contract in contracts.items()}
    for key, faults in (*found.refused.items(), *warnings.items()):
        told = set(by_key[key].value.warnings)  # of the document alone: told when it was read
        yield from (Finding(by_key[key].file, fault) for fault in faults if fault not in told)


def print_findings(findings: Sequence[Finding], output: Format) -> None:
    """Print faults, one a line."""
    if output is not Format.TABLE:
        print_as(
            output,
            [
                {"file": one.file, "path": one.fault.path, "severity": one.fault.severity, "message": one.fault.message}
                for one in findings
            ],
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
