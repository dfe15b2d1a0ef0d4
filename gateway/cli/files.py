"""Read what a command line names."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

import typer

from gateway.cli.output import Stop

STANDARD_INPUT = Path("-")


_BY_OTHERS = 0o077


@cache
def read_private_key(path: Path) -> bytes:
    """Read a private key, and say once where others can read it too.

    Raises:
        Stop: It cannot be read.
    """
    text = read_bytes(path)
    if path.exists() and path.stat().st_mode & _BY_OTHERS:
        typer.echo(f"dna: others can read the private key {path}: chmod 600 {path}", err=True)
    return text


def read_bytes(path: Path) -> bytes:
    """Read a file, or standard input for `-`.

    Raises:
        Stop: It cannot be read.
    """
    if path == STANDARD_INPUT:
        return sys.stdin.buffer.read()
    try:
        return path.read_bytes()
    except OSError as error:
        raise Stop(f"{path}: {error.strerror}") from error
