"""`dna doctor`: what in a project's source lets one request change another's answer. Its options, help and output."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.output import FINDINGS, WRONG_USAGE, Format, Stop, counted, print_json
from gateway.printable import printable
from inference_dna.canonical import Refused
from inference_dna.doctor.examine import Report, examine
from inference_dna.doctor.finding import Finding


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command("doctor")(doctor_command)


def doctor_command(
    path: Annotated[Path, typer.Argument(help="A project's folder, or one Python file.", show_default=False)],
    output: Annotated[Format, typer.Option("-o", "--output", help="Form of the output.")] = Format.TABLE,
) -> None:
    """Find in source where requests touch each other: shared settings, caches, seeds. Exit 3 where they do.

    Source is read, never imported. `# dna: allow <rule> <reason>` at a line's end silences that line.
    """
    try:
        report = examine(path)
    except Refused as refused:
        raise Stop(str(refused), WRONG_USAGE) from refused
    if output is Format.JSON:
        print_json(_document(report))
    else:
        _print_findings(report)
    if report.findings:
        raise Stop(code=FINDINGS)


def _document(report: Report) -> dict[str, object]:
    return {
        "files": report.files,
        "findings": [{**_place(finding), "why": finding.why, "do": finding.do} for finding in report.findings],
        "allowed": [{**_place(finding), "reason": reason} for finding, reason in report.allowed],
        "skipped": [{"file": found.name, "reason": found.skipped} for found in report.skipped],
    }


def _place(finding: Finding) -> dict[str, object]:
    return {"file": finding.file, "line": finding.line, "rule": finding.rule.value, "what": finding.what}


def _print_findings(report: Report) -> None:
    for finding in report.findings:
        typer.echo(f"{printable(finding.file)}:{finding.line}: {finding.rule}: {printable(finding.what)}")
        typer.echo(f"    why  {finding.why}")
        typer.echo(f"    do   {finding.do}")
    for found in report.skipped:
        typer.echo(f"skipped: {printable(found.name)}: {found.skipped}", err=True)
    summary = f"{counted(report.files, 'file')} read, {counted(len(report.findings), 'finding')}"
    typer.echo(f"{summary}, {len(report.allowed)} allowed by comments", err=True)
