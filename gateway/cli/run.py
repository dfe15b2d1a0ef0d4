"""`dna gateway` and `dna worker`: become the process that serves."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Sequence
from typing import Any

import typer

from gateway.cli.output import FAILED, WRONG_USAGE, Stop


def run_gateway(**options: Any) -> None:
    """Read the settings and serve until told to stop.

    Raises:
        Stop: A setting cannot be used.
        typer.Exit: With the gateway's exit code.
    """
    from gateway.settings import SettingsRefused, load, unknown_variables

    try:
        settings = load(**options)
    except SettingsRefused as error:
        raise Stop(str(error).replace("\n", "\ndna: "), WRONG_USAGE) from error
    if settings.source is None:
        raise Stop(
            "say where the documents are: --source file:DIR or consul://HOST:PORT/inference, or GATEWAY_SOURCE",
            WRONG_USAGE,
        )
    for sentence in unknown_variables():
        typer.echo(f"dna: {sentence}", err=True)
    from gateway.app import serve

    raise typer.Exit(serve(settings))


def run_worker(arguments: Sequence[str]) -> None:
    """Become `python -m worker` with the same arguments; does not return.

    Raises:
        Stop: The worker is not installed here.
    """
    if importlib.util.find_spec("worker") is None:
        raise Stop("the worker is not installed here; install dna-gateway[worker]", FAILED)
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-m", "worker", *arguments])  # noqa: S606 - ourselves, without a shell
