"""The snapshot of a tokenizer: `tokenizer_<version>.tar.gz` with every file that matters (provenance.md section 3).

It is written where the model is built and opened where it is served. What is opened is hashed first, whole, in memory:
a file that changes between the check and the use is never read a second time.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from inference_dna.archive import MAX_BYTES, pack, unpack
from inference_dna.canonical import Json, Refused
from inference_dna.digest import ALGORITHM, parse_digest
from inference_dna.files import FileEntry, check_name, parse_files
from inference_dna.measure.listing import list_folder
from inference_dna.measure.places import Place, place_of
from inference_dna.measure.reading import read_content, reading_errors
from inference_dna.version_text import version_text


def archive_name(version: str) -> str:
    """Name the archive of a version; `v2.4.0` and `2.4.0` are one.

    Raises:
        Refused: The version cannot stand in a file name.
    """
    return f"tokenizer_{version_text(version)}.tar.gz"


def write_archive(folder: Path, version: str, target: Path, *, extra: Mapping[str, Path] | None = None) -> FileEntry:
    """Pack the tokenizer files of a model folder. The same files give the same bytes, on any machine.

    Args:
        folder: The model folder.
        version: The model's version.
        target: The folder to write into.
        extra: Files outside the folder that the tokenizer reads, such as a segmenter's dictionary, by label.

    Returns:
        The archive's entry: `sha256` is what `open_archive` wants to see again.

    Raises:
        Refused: The folder holds no tokenizer files, one cannot be read, or the archive cannot be written.
    """
    contents = {found.name: _bytes(found.path, found.name) for found in list_folder(folder) if _belongs(found.name)}
    if not contents:
        raise Refused(f"The folder {str(folder)!a} holds no tokenizer files.")
    contents |= {_extra_name(label, path): _bytes(path, label) for label, path in (extra or {}).items()}
    archive, name = pack(contents), archive_name(version)
    with reading_errors(f"or writing the archive {name!a}"):
        _write_renamed(target / name, archive)
    return FileEntry(name, len(archive), sha256(archive).hexdigest())


def open_archive(
    archive: Path, target: Path, *, digest: str, files: Sequence[FileEntry] | None = None
) -> tuple[FileEntry, ...]:
    """Check an archive and lay its files into a new folder of one's own.

    Args:
        archive: The file.
        target: The folder to make; it must not exist, and others may not write into it.
        digest: `sha256:<64 hex>` of the archive as the manifest states it.
        files: Entries of the tokenizer section; where given, the archive must hold exactly these.

    Returns:
        The entries of the files laid out, sorted by name.

    Raises:
        Refused: The archive is another one, is damaged, holds other files, or the folder cannot be made. Then nothing
            is left behind.
    """
    with reading_errors(f"the file {archive.name!a}"):
        if archive.stat().st_size > MAX_BYTES:
            raise Refused(f"The archive {archive.name!a} is larger than {MAX_BYTES} bytes.")
    content = _bytes(archive, archive.name)
    measured = ALGORITHM + sha256(content).hexdigest()
    if measured != ALGORITHM + parse_digest(digest):
        raise Refused(f"The archive {archive.name!a} is {measured}, and {digest} was promised.")
    contents = unpack(content)
    entries = tuple(FileEntry(name, len(each), sha256(each).hexdigest()) for name, each in sorted(contents.items()))
    if files is not None:
        _check_same(entries, files)
    with reading_errors(f"or writing the folder {str(target)!a}"):
        _lay_out(contents, target)
    return entries


def with_archive(section: Mapping[str, Json], archive: FileEntry) -> dict[str, Json]:
    """Write into a tokenizer section which archive holds its files. The manifest's signature covers it."""
    evidence = section.get("evidence")
    held = evidence if isinstance(evidence, Mapping) else {}
    return {**section, "evidence": {**held, "archive": archive.document()}}


def open_promised(archive: Path, target: Path, section: Mapping[str, Json]) -> tuple[FileEntry, ...]:
    """Open the archive that a manifest promises.

    Args:
        archive: The file.
        target: As in `open_archive`.
        section: The tokenizer section of a manifest whose signature was verified.

    Raises:
        Refused: As `open_archive`; or the section names no archive or no files.
    """
    evidence = section.get("evidence")
    promised = evidence.get("archive") if isinstance(evidence, Mapping) else None
    if promised is None:
        raise Refused("The manifest names no archive of its tokenizer.")
    (entry,) = parse_files([promised])
    return open_archive(archive, target, digest=ALGORITHM + entry.sha256, files=parse_files(section.get("files")))


def _belongs(name: str) -> bool:
    return place_of(name) is Place.TOKENIZER


def _extra_name(label: str, path: Path) -> str:
    name = f"extra/{label}/{path.name}"
    check_name(name)
    return name


def _bytes(path: Path, name: str) -> bytes:
    with reading_errors(f"the file {name!a}"), path.open("rb") as stream:
        return read_content(stream, name, keep=True).kept or b""


def _check_same(held: Sequence[FileEntry], promised: Sequence[FileEntry]) -> None:
    by_name, wanted = {entry.name: entry for entry in held}, {entry.name: entry for entry in promised}
    for name in sorted(by_name.keys() | wanted.keys()):
        if name not in by_name:
            raise Refused(f"The archive lacks the file {name!a}.")
        if name not in wanted:
            raise Refused(f"The archive holds the file {name!a}, which the manifest does not name.")
        if by_name[name] != wanted[name]:
            raise Refused(f"The file {name!a} in the archive is another one than the manifest promises.")


def _lay_out(contents: Mapping[str, bytes], target: Path) -> None:
    if target.exists():
        raise Refused(f"The folder {str(target)!a} is there already; give one that is not.")
    # The folder appears whole under its name or not at all.
    fresh = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        for name, content in contents.items():
            file = fresh / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
            file.chmod(0o400)
        fresh.rename(target)
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        raise


def _write_renamed(path: Path, content: bytes) -> None:
    descriptor, fresh = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
        Path(fresh).chmod(0o644)
        Path(fresh).replace(path)
    except BaseException:
        Path(fresh).unlink(missing_ok=True)
        raise
