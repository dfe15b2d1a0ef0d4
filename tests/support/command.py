"""Commands of `dna`: in the test's own process, or as the process that people start."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from gateway.cli.main import main

Run = Callable[..., tuple[int, str, str]]
"""Takes the words of the command line; gives exit code, standard output, standard error."""


def in_process(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run commands in this process; a process of their own costs half a second each."""

    def run(*arguments: object) -> tuple[int, str, str]:
        code = main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return run


def as_process(
    *arguments: object, stdin: bytes = b"", folder: Path | None = None, variables: Mapping[str, str] | None = None
) -> tuple[int, str, str]:
    """Run a command as people do."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("GATEWAY_", "CONSUL_"))}
    done = subprocess.run(
        [sys.executable, "-m", "gateway.cli.main", *map(str, arguments)],
        input=stdin,
        capture_output=True,
        cwd=folder,
        env=environment | dict(variables or {}),
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()
