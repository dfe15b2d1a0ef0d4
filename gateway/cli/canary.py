"""`dna route set-canary`, `promote`, `abort`: the share of a version, written where the route lies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import typer

from contracts.faults import DocumentRefused
from contracts.reading import read
from contracts.route import parse_route
from contracts.selector import Alias, Exact, Range, SelectorError, parse_selector
from contracts.version import Version, VersionError
from gateway.cli.get import document_key, held_document
from gateway.cli.options import Manner
from gateway.cli.output import FINDINGS, WRONG_USAGE, Stop
from gateway.cli.propose import write_documents
from gateway.edits import canary
from gateway.edits.canary import CanaryRefused
from gateway.edits.place import Change, Holding
from gateway.edits.text import edited


def set_canary(model: str, version: str, percentage: float, manner: Manner, *, dna_prefix: str | None) -> None:
    """Give a version this share of the requests that name none.

    Raises:
        Stop: As `write_documents`; or the model has no route.
    """
    wanted = _version(version)
    _edit_route(model, manner, lambda route: canary.set_share(route, wanted, percentage, dna_prefix=dna_prefix))


def promote(model: str, version: str, manner: Manner, *, default: str | None) -> None:
    """Make a version the default, and end its canary.

    Raises:
        Stop: As `write_documents`; or the default selects another version.
    """
    wanted = _version(version)
    if default is not None:
        _check_default(default, wanted)
    _edit_route(model, manner, lambda route: canary.promote(route, wanted, default=default))


def abort(model: str, version: str | None, manner: Manner) -> None:
    """Take the share of one canary, or of all.

    Raises:
        Stop: As `write_documents`; or there is no such canary.
    """
    wanted = _version(version) if version is not None else None
    _edit_route(model, manner, lambda route: canary.abort(route, wanted))


def _edit_route(model: str, manner: Manner, edit: Callable[[dict[str, Any]], None]) -> None:
    key = document_key("route", model)

    def propose(holding: Holding) -> Sequence[Change]:
        held = held_document(holding, key)
        try:
            route = parse_route(held.text)
        except DocumentRefused as refused:
            raise Stop(f"{key} cannot be changed before it is mended: {refused}", FINDINGS) from refused
        if isinstance(route.default, Alias):
            typer.echo(
                f"dna: the default of {model} is the alias {route.default.name}; aliases stay as they are", err=True
            )
        try:
            text = edited(held.text, edit)
        except CanaryRefused as refused:
            raise Stop(str(refused), WRONG_USAGE) from refused
        is_same = read(text).value == read(held.text).value
        return [] if is_same else [Change(key, held, text)]

    write_documents(manner, propose)


def _version(text: str) -> Version:
    try:
        return Version.parse(text)
    except VersionError as error:
        raise Stop(str(error), WRONG_USAGE) from error


def _check_default(text: str, version: Version) -> None:
    try:
        selector = parse_selector(text)
    except SelectorError as error:
        raise Stop(f"--default: {error}", WRONG_USAGE) from error
    selects_exactly = isinstance(selector, Exact) and selector.version == version
    if not selects_exactly and not (isinstance(selector, Range) and selector.matches(version)):
        raise Stop(f"--default {text} does not select {version}", WRONG_USAGE)
