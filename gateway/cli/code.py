"""`dna code check`: whether post-processing takes its behaviour from anywhere but its own code."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import typer

from gateway.cli.output import FINDINGS, Format, Stop, print_as
from inference_dna.canonical import Refused
from inference_dna.measure.code.check import code_reads


def check(paths: Sequence[Path], *, output: Format) -> None:
    """Print every place that reads from outside.

    Raises:
        Stop: With 3 where there are any, with 1 where some code cannot be read.
    """
    try:
        reads = [(path, read) for path in paths for read in code_reads(path)]
    except Refused as refused:
        raise Stop(str(refused)) from refused
    if output is not Format.TABLE:
        found = [
            {"path": str(path), "file": read.file, "line": read.line, "what": read.what, "variable": read.variable}
            for path, read in reads
        ]
        print_as(output, {"reads": found})
    else:
        for _, read in reads:
            typer.echo(str(read))
    if reads:
        raise Stop(code=FINDINGS)
