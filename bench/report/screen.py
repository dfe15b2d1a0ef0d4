"""Prints sheets on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from bench.report.sheet import Sheet

# Into a file rich would fold tables to 80 columns; what reads a file can take a long line.
_FILE_WIDTH = 220


def show(sheets: Sequence[Sheet]) -> None:
    """Print each with its title."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=_FILE_WIDTH)
    for sheet in sheets:
        table = Table(title=sheet.title, title_justify="left", title_style="bold")
        for index, head in enumerate(sheet.heads):
            table.add_column(head, justify="right" if index else "left")
        for row in sheet.rows:
            table.add_row(*row)
        console.print(table)
