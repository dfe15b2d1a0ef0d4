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
FASTER = 4
"""Somebody else changed what was to be written; nothing was lost, and trying again shows the difference."""

EXIT_CODES = """\
Exit codes: 0 good; 1 failed; 2 wrong usage; 3 findings (lint, a refused document, what differs); \
4 somebody was faster, nothing was overwritten."""


class Format(StrEnum):
    """Form of the output."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


class Stop(Exception):
    """Ends a command: `message` goes to standard error, `code` is the exit code."""

    def __init__(self, message: str = "", code: int = FAILED) -> None:
        super().__init__(message)
        self.message = message
        self.code = code


def counted(number: int, noun: str) -> str:
    """Write how many there are of something."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def print_json(value: Any) -> None:
    """Print a value as JSON that people can read too."""
    import json

    import typer

    typer.echo(json.dumps(value, indent=2, ensure_ascii=False, default=str))


def print_as(output: Format, value: Any) -> None:
    """Print a value as JSON, or as YAML with the same members."""
    if output is not Format.YAML:
        print_json(value)
        return
    import json

    import typer
    import yaml

    plain = json.loads(json.dumps(value, default=str))  # YAML would write a date or a path in ways of its own
    typer.echo(yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, width=120), nl=False)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, bad: Sequence[str] = ()) -> None:
    """Print rows under a heading. Cells equal to a word of `bad` are red on a terminal that has colours.

    Without a terminal nothing is cut and nothing wrapped: the lines are for programs then.
    """
    shown = [tuple(map(printable, row)) for row in rows]
    if sys.stdout.isatty():
        _print_on_terminal(columns, shown, bad)
    else:
        _print_lines([tuple(columns), *shown])


def lines(rows: Sequence[Sequence[str]]) -> list[str]:
    """Write rows with their columns below one another."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _print_lines(rows: Sequence[Sequence[str]]) -> None:
    import typer

    for line in lines(rows):
        typer.echo(line)


def _print_on_terminal(columns: Sequence[str], rows: Iterable[Sequence[str]], bad: Sequence[str]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*columns, box=None, pad_edge=False, header_style="bold")
    for row in rows:
        table.add_row(*(Text(cell, style="red" if cell in bad else "", overflow="fold") for cell in row))
    Console().print(table)
