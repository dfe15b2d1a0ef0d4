"""`dna generator pack` and `dna generator show`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from gateway.cli.output import WRONG_USAGE, Format, Stop, print_json
from inference_dna.binding.pack import check_generator, pack_generator
from inference_dna.binding.settings import bound_settings
from inference_dna.canonical import Refused
from inference_dna.digest import ALGORITHM
from inference_dna.making.measurers import architecture
from inference_dna.measure.generation import read_generation
from inference_dna.measure.loading import load_transformers


def pack(model: Path, *, version: str, into: Path, settings: Sequence[str], output: Format) -> None:
    """Pack a model of transformers with what it would decode with.

    Raises:
        Stop: A setting is not written as NAME=JSON, or the model cannot be loaded, asked, compiled or written.
    """
    defaults = _named(settings)
    try:
        loaded, tokenizer = load_transformers(model, architecture(model))
        bound = bound_settings(read_generation(loaded, tokenizer, defaults=defaults))
        entry = pack_generator(loaded, bound, version=version, target=into)
    except Refused as refused:
        raise Stop(str(refused)) from refused
    if output is Format.JSON:
        print_json({"written": str(into / entry.name), **entry.document(), "settings": bound.document()})
        return
    typer.echo(f"written  {into / entry.name}")
    typer.echo(f"{ALGORITHM}{entry.sha256}  {entry.size}  {entry.name}")
    _print_settings(bound.document())


def show(archive: Path, *, output: Format) -> None:
    """Print what is compiled into a packed generator; it is read, not run.

    Raises:
        Stop: It is none, or reads something from outside.
    """
    try:
        settings = check_generator(archive)
    except Refused as refused:
        raise Stop(str(refused)) from refused
    if output is Format.JSON:
        print_json(settings)
    else:
        _print_settings(settings)


def _named(settings: Sequence[str]) -> dict[str, Any]:
    named: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        try:
            named[name] = json.loads(text)
        except ValueError:
            equals = ""
        if not (name and equals):
            raise Stop(f"{setting!a} is no setting; write NAME=JSON, like temperature=0.7", WRONG_USAGE)
    return named


def _print_settings(settings: Mapping[str, Any]) -> None:
    for name, value in settings.items():
        typer.echo(f"{name} = {json.dumps(value)}")
