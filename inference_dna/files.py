"""File entries, tensor entries and their digests (dna.md section 3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import cast

from inference_dna.canonical import Json, Refused, first_repeated
from inference_dna.digest import hashed, parse_hex

_MEMBERS = {"name", "size", "sha256"}
_ESCAPES = str.maketrans({"\\": "\\\\", "\n": "\\n", "\r": "\\r"})


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One file: relative name with `/` between components, size in bytes, bare SHA-256 of the content.

    Raises:
        Refused: The name leaves the folder or cannot be written, the size is no integer >= 0, the hash is no bare hex.
    """

    name: str
    size: int
    sha256: str

    def __post_init__(self) -> None:
        check_name(self.name)
        if type(self.size) is not int or self.size < 0:
            raise Refused(f"The size of {self.name!a} must be an integer from 0 up, not {self.size!r}.")
        parse_hex(self.sha256)

    def document(self) -> dict[str, Json]:
        """The entry as it stands in a genome."""
        return {"name": self.name, "size": self.size, "sha256": self.sha256}


@dataclass(frozen=True, slots=True)
class TensorEntry:
    """One tensor: name, dtype as safetensors writes it, shape, bare SHA-256 of its little-endian bytes.

    Raises:
        Refused: The dtype is no single word, a side of the shape is no integer >= 0, the hash is no bare hex.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    sha256: str

    def __post_init__(self) -> None:
        if not self.dtype.isascii() or self.dtype.split() != [self.dtype]:
            raise Refused(f"The dtype of tensor {self.name!a} must be one word, not {self.dtype!a}.")
        if any(type(side) is not int or side < 0 for side in self.shape):
            raise Refused(f"The shape of tensor {self.name!a} must hold integers from 0 up, not {self.shape!r}.")
        parse_hex(self.sha256)


def parse_files(value: Json) -> tuple[FileEntry, ...]:
    """Read the `files` member of a section.

    Raises:
        Refused: The value is no non-empty list of entries with exactly name, size and sha256, or a name stands twice.
    """
    if not isinstance(value, list | tuple):
        raise Refused("`files` must be a list of file entries.")
    entries = tuple(_parse_entry(item) for item in value)
    _check_entries(entries)
    return entries


def files_text(entries: Iterable[FileEntry]) -> str:
    """Write the lines that a files digest covers; the order of the entries does not matter.

    Raises:
        Refused: No entries, or two of one name.
    """
    # Code point order of the unescaped names is the order of their UTF-8 bytes.
    ordered = sorted(entries, key=lambda entry: entry.name)
    _check_entries(ordered)
    return "".join([f"{entry.sha256}  {entry.size} {escaped(entry.name)}\n" for entry in ordered])


def files_digest(entries: Iterable[FileEntry]) -> str:
    """Compute `H("files", lines)`, 64 bare hex.

    Raises:
        Refused: No entries, or two of one name.
    """
    return hashed("files", files_text(entries))


def tensors_digest(entries: Iterable[TensorEntry]) -> str:
    """Compute `H("tensors", lines)`, 64 bare hex. It explains a difference, it never decides one.

    Raises:
        Refused: Two entries of one name, or a name that UTF-8 cannot hold.
    """
    ordered = sorted(entries, key=lambda entry: entry.name)
    _check_unique([entry.name for entry in ordered])
    return hashed("tensors", "".join([_tensor_line(entry) for entry in ordered]))


def check_name(name: object) -> None:
    """Refuse a file name that leaves its folder, is absolute or cannot be written as UTF-8.

    Raises:
        Refused: As said.
    """
    if not isinstance(name, str):
        raise Refused(f"A file name must be text, not {name!r}.")
    if any(component in ("", ".", "..") for component in name.split("/")):
        raise Refused(f"The file name {name!a} has an empty, `.` or `..` component.")
    if "\0" in name:
        raise Refused(f"The file name {name!a} holds a NUL.")
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise Refused(f"The file name {name!a} is not UTF-8.") from error


def escaped(name: str) -> str:
    r"""Write a name on one line: `\` as `\\`, LF as `\n`, CR as `\r`."""
    return name.translate(_ESCAPES)


def _parse_entry(value: Json) -> FileEntry:
    if not isinstance(value, Mapping) or value.keys() != _MEMBERS:
        raise Refused("A file entry has exactly the members name, size and sha256.")
    # The entry itself refuses a member of the wrong type.
    return FileEntry(cast("str", value["name"]), cast("int", value["size"]), cast("str", value["sha256"]))


def _check_entries(entries: Iterable[FileEntry]) -> None:
    names = [entry.name for entry in entries]
    if not names:
        raise Refused("A list of files must name at least one file.")
    _check_unique(names)


def _check_unique(names: list[str]) -> None:
    twice = first_repeated(names)
    if twice is not None:
        raise Refused(f"The name {twice!a} stands twice.")


def _tensor_line(entry: TensorEntry) -> str:
    shape = "x".join(map(str, entry.shape)) or "-"
    return f"{entry.sha256}  {entry.dtype} {shape} {escaped(entry.name)}\n"
