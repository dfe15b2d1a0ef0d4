"""Files and folders that an engine was told of: which files they are, and what is in them."""

from __future__ import annotations

from pathlib import Path

from inference_dna.canonical import Refused
from inference_dna.files import FileEntry, files_digest
from inference_dna.measure.listing import Found, list_folder
from inference_dna.measure.places import is_hidden
from inference_dna.measure.reading import read_content, reading_errors


def visible_files(path: Path) -> tuple[Found, ...]:
    """List a file, or all visible files below a folder, sorted by name.

    Raises:
        Refused: The folder cannot be listed, or is one of another container.
    """
    if not path.is_dir():
        return (Found(path.name, path, 0),)
    return tuple(found for found in list_folder(reachable(path)) if not is_hidden(found.name))


def content_digest(path: Path) -> str:
    """Files digest of a file or of all visible files of a folder, 64 bare hex.

    Raises:
        Refused: One of them cannot be read.
    """
    return files_digest([_entry(found) for found in visible_files(path)])


def reachable(folder: Path) -> Path:
    """Give back a folder whose links can be followed from here.

    Raises:
        Refused: It lies in the files of another container, whose links would lead into our own.
    """
    with reading_errors(f"the folder {str(folder)!a}"):
        real = folder.resolve()
        is_same = real.exists() and real.samefile(folder)
    if not is_same:
        raise Refused(f"The folder {str(real)!a} of the engine is not mounted here; mount it at the same path.")
    return folder


def _entry(found: Found) -> FileEntry:
    with reading_errors(f"the file {found.name!a}"), found.path.open("rb") as stream:
        return read_content(stream, found.name, keep=False).entry
