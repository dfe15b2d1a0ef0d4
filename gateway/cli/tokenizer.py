"""`dna tokenizer pack` and `dna tokenizer open`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

import typer

from gateway.cli.files import read_bytes
from gateway.cli.output import WRONG_USAGE, Format, Stop, print_as
from inference_dna.canonical import Json, Refused
from inference_dna.digest import ALGORITHM
from inference_dna.files import FileEntry
from inference_dna.making.manifest_text import manifest_text
from inference_dna.making.whole_file import write_whole
from inference_dna.manifest import Manifest, parse_manifest
from inference_dna.measure.tokenizer_archive import open_archive, open_promised, with_archive, write_archive


def pack(model: Path, *, version: str, into: Path, manifest: Path | None, extra: Sequence[str], output: Format) -> None:
    """Pack a tokenizer, and note the archive in a manifest that is not signed yet.

    Raises:
        Stop: The folder has no tokenizer, the archive cannot be written, or the manifest is signed already.
    """
    try:
        unsigned = None if manifest is None else _unsigned(manifest)
        entry = write_archive(model, version, into, extra=_labelled(extra))
        if manifest is not None and unsigned is not None:
            write_whole(manifest, manifest_text(_noted(unsigned, entry)))
    except Refused as refused:
        raise Stop(str(refused)) from refused
    _print([entry], str(into / entry.name), output)


def open_packed(archive: Path, *, into: Path, manifest: Path | None, digest: str | None, output: Format) -> None:
    """Open an archive that a manifest or a digest promises.

    Raises:
        Stop: It is another one, or nothing promises it.
    """
    if (manifest is None) == (digest is None):
        raise Stop("say what the archive must be: --manifest FILE or --digest sha256:…", WRONG_USAGE)
    try:
        if digest is not None:
            entries = open_archive(archive, into, digest=digest)
        else:
            promised = parse_manifest(read_bytes(manifest or archive))
            entries = open_promised(archive, into, _section(promised))
    except Refused as refused:
        raise Stop(str(refused)) from refused
    _print(entries, str(into), output)


def _unsigned(path: Path) -> Manifest:
    read = parse_manifest(read_bytes(path))
    if read.signatures:
        raise Refused("The manifest is signed already, and a note would break its signature; pack before you sign.")
    return read


def _noted(manifest: Manifest, entry: FileEntry) -> Mapping[str, Json]:
    """The note is evidence: no digest moves, and the signature that is to come covers it."""
    genome = {**manifest.genome, "tokenizer": with_archive(_section(manifest), entry)}
    return {**manifest.document, "genome": genome}


def _section(manifest: Manifest) -> Mapping[str, Json]:
    # Reading the manifest refused whatever is no object there.
    return cast("Mapping[str, Json]", manifest.genome["tokenizer"])


def _labelled(extra: Sequence[str]) -> dict[str, Path]:
    pairs = [entry.partition("=") for entry in extra]
    for label, equals, path in pairs:
        if not (label and equals and path):
            raise Stop(f"{label!a} names no file; write LABEL=PATH", WRONG_USAGE)
    return {label: Path(path) for label, _, path in pairs}


def _print(entries: Sequence[FileEntry], place: str, output: Format) -> None:
    if output is not Format.TABLE:
        print_as(output, {"written": place, "files": [entry.document() for entry in entries]})
        return
    typer.echo(f"written  {place}")
    for entry in entries:
        typer.echo(f"{ALGORITHM}{entry.sha256}  {entry.size}  {entry.name}")
