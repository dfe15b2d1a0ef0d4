"""`dna manifest`: write, compare and translate manifests."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import typer

from gateway.cli.files import read_bytes
from gateway.cli.output import FINDINGS, Format, Stop, print_as, print_json
from inference_dna.canonical import Refused
from inference_dna.difference.diff import compare
from inference_dna.difference.text import difference_document, difference_lines
from inference_dna.making.cyclonedx import bill_of_materials
from inference_dna.making.generate import Order, generate
from inference_dna.making.manifest_text import manifest_lines, unmeasured_lines
from inference_dna.making.statement import envelope, statement
from inference_dna.making.whole_file import STANDARD_OUTPUT
from inference_dna.manifest import Manifest, parse_manifest
from inference_dna.trust.passphrase import read_passphrase


def write_manifest(order: Order) -> None:
    """Measure a model and write its manifest.

    Raises:
        Stop: Nothing was written; the message says why.
    """
    try:
        manifest, engine = generate(order, now=datetime.now(UTC))
    except Refused as refused:
        raise Stop(str(refused)) from refused
    on_error = order.output == STANDARD_OUTPUT  # the document itself is on standard output then
    for line in manifest_lines(manifest, engine=engine, written_to=order.output):
        typer.echo(line, err=on_error)
    for line in unmeasured_lines(manifest):
        typer.echo(line, err=True)


def print_difference(before: Path, after: Path, *, output: Format) -> None:
    """Say what tells two manifests apart.

    Raises:
        Stop: One of them is refused; with code 3 where they differ.
    """
    difference = compare(read_manifest(before), read_manifest(after))
    if output is not Format.TABLE:
        print_as(output, difference_document(difference))
    else:
        typer.echo("\n".join(difference_lines(difference)))
    if not difference.is_equal:
        raise Stop(code=FINDINGS)


def print_statement(manifest: Path, *, key: Path | None, passphrase_file: Path | None) -> None:
    """Print the in-toto statement of a manifest; with a key, signed in a DSSE envelope.

    Raises:
        Stop: The manifest or the key is refused.
    """
    try:
        document = statement(read_manifest(manifest))
        if key is not None:
            document = envelope(document, read_bytes(key), read_passphrase(passphrase_file))
    except Refused as refused:
        raise Stop(f"{manifest}: {refused}") from refused
    print_json(document)


def print_bill_of_materials(manifest: Path) -> None:
    """Print the CycloneDX view of a manifest.

    Raises:
        Stop: The manifest is refused.
    """
    try:
        print_json(bill_of_materials(read_manifest(manifest)))
    except Refused as refused:
        raise Stop(f"{manifest}: {refused}") from refused


def read_manifest(path: Path) -> Manifest:
    """Read a manifest that agrees with itself; `-` is standard input.

    Raises:
        Stop: It cannot be read, or is refused.
    """
    try:
        return parse_manifest(read_bytes(path))
    except Refused as refused:
        raise Stop(f"{path}: {refused}") from refused
