"""How commands print and how they stop."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Any

from inference_dna.shown import printable

FAILED = 1
WRONG_USAGE = 2
FINDINGS = 3


class Format(StrEnum):
    """Form of the output."""

    TABLE = "table"
    JSON = "json"


class Stop(Exception):
    """Ends a command: `message` goes to standard error, `code` is the exit code."""

    def __init__(self, message: str = "", code: int = FAILED) -> None:
        super().__init__(message)
        self.message = message
        self.code = code


def print_json(value: Any) -> None:
    """Print a value as JSON that people can read too."""
    import json

    import typer

    typer.echo(json.dumps(value, indent=2, ensure_ascii=False, default=str))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, bad: Sequence[str] = ()) -> None:
    """Print rows under a heading. Cells equal to a word of `bad` are red on a terminal that has colours.

    Without a terminal nothing is cut and nothing wrapped: the lines are for programs then.
    """
    shown = [tuple(map(printable, row)) for row in rows]
    if sys.stdout.isatty():
        _print_on_terminal(columns, shown, bad)
    else:
        _print_lines([tuple(columns), *shown])


def _print_lines(rows: Sequence[tuple[str, ...]]) -> None:
    import typer

    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        typer.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _print_on_terminal(columns: Sequence[str], rows: Iterable[Sequence[str]], bad: Sequence[str]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*columns, box=None, pad_edge=False, header_style="bold")
    for row in rows:
        table.add_row(*(Text(cell, style="red" if cell in bad else "", overflow="fold") for cell in row))
    Console().print(table)
