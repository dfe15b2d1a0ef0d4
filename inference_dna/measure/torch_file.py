"""The structure of PyTorch's files: ZIP archives around a pickle, TorchScript, and the older form that is no archive.

Nothing is unpickled and no tensor is unpacked: a pickle is a program (provenance.md section 2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import BinaryIO

from inference_dna.canonical import Refused
from inference_dna.files import FileEntry
from inference_dna.measure.inside import Parts
from inference_dna.measure.pickled import TORCH_LEGACY, is_pickle
from inference_dna.measure.places import matches
from inference_dna.measure.zip_directory import MAGIC, Member, read_directory, read_member

SUFFIXES = (".pt", ".pth", ".ts", ".ptl")
"""Files that can be nothing else."""
LOOSE_SUFFIXES = (".bin", ".ckpt")
"""Files that other tools write too: judged only where they begin like an archive or a pickle."""
_OWN_NAMES = ("pytorch_model*.bin", "diffusion_pytorch_model*.bin", "adapter_model*.bin")
"""Among those, names under which only PyTorch's files are looked for."""
EXPORTED_SUFFIX = ".pt2"

PYTORCH, TORCHSCRIPT, EXPORTED = "pytorch", "torchscript", "torch-export"
SCRIPT_SUFFIX = ".ts"

_MAX_UNPACKED_BYTES = 256 * 1024 * 1024
_PICKLE, _CONSTANTS, _CODE, _SOURCE = "data.pkl", "constants.pkl", "code/", ".py"


@dataclass(frozen=True, slots=True)
class TorchFile:
    """A file that PyTorch wrote. `code` are the sources a TorchScript archive runs, named as in the archive."""

    form: str
    code: tuple[FileEntry, ...] = ()
    tensors: frozenset[str] | None = None

    def check(self, name: str, parts: Parts) -> None:
        """Nothing: such a file names no other."""


def inspect_torch(stream: BinaryIO, name: str, size: int) -> TorchFile | None:
    """Look at the outside of a file, and at the sources of a TorchScript archive.

    Args:
        stream: The file, open for reading in binary.
        name: Its name in the model folder.
        size: Its size in bytes.

    Returns:
        None for a `.bin` or `.ckpt` that is neither an archive nor a pickle: another tool's weights.

    Raises:
        Refused: It is an archive that PyTorch did not write, one that would unpack beyond reason, or a bare pickle.
    """
    stream.seek(0)
    head = stream.read(len(TORCH_LEGACY))
    if head.startswith(MAGIC):
        return _inspect_archive(stream, name, size)
    if head == TORCH_LEGACY and not name.endswith((SCRIPT_SUFFIX, EXPORTED_SUFFIX)):
        return TorchFile(PYTORCH)
    if is_pickle(stream):
        raise Refused(
            f"The file {name!a} is a bare pickle: loading it runs what it holds. Save the weights as safetensors."
        )
    if name.endswith(LOOSE_SUFFIXES) and not matches(name.rpartition("/")[2], _OWN_NAMES):
        return None
    raise Refused(f"The file {name!a} is no file of PyTorch: neither a ZIP archive nor its older form.")


def is_script(members: Sequence[Member]) -> bool:
    """Say whether the members of an archive are those of TorchScript: constants and code in one folder."""
    names = {member.name for member in members}
    root = next(iter(names), "").partition("/")[0]
    return f"{root}/{_CONSTANTS}" in names and any(name.startswith(f"{root}/{_CODE}") for name in names)


def _inspect_archive(stream: BinaryIO, name: str, size: int) -> TorchFile:
    members = read_directory(stream, name, size)
    unpacked = sum(member.size for member in members if member.deflated)
    if unpacked > _MAX_UNPACKED_BYTES:
        raise Refused(
            f"The archive {name!a} of {size} bytes would unpack to {unpacked} bytes more: a ZIP bomb. "
            "PyTorch never compresses tensors."
        )
    if name.endswith(EXPORTED_SUFFIX):
        return TorchFile(EXPORTED)
    return _torch_archive(stream, name, members)


def _torch_archive(stream: BinaryIO, name: str, members: Sequence[Member]) -> TorchFile:
    root, names = _root(name, members), {member.name for member in members}
    if root + _PICKLE not in names:
        raise Refused(f"The archive {name!a} was not written by PyTorch: it holds no {_PICKLE}.")
    if is_script(members):
        inside = root + _CODE
        sources = [each for each in members if each.name.startswith(inside) and each.name.endswith(_SOURCE)]
        return TorchFile(TORCHSCRIPT, tuple(_source(stream, name, root, member) for member in sources))
    if name.endswith(SCRIPT_SUFFIX):
        raise Refused(f"The archive {name!a} is no TorchScript: it lacks {_CONSTANTS} or {_CODE}.")
    return TorchFile(PYTORCH)


def _root(name: str, members: Sequence[Member]) -> str:
    roots = {member.name.partition("/")[0] for member in members}
    if len(roots) != 1:
        raise Refused(f"The archive {name!a} was not written by PyTorch: its members do not lie in one folder.")
    return roots.pop() + "/"


def _source(stream: BinaryIO, name: str, root: str, member: Member) -> FileEntry:
    # The folder in the archive is named after the file it was first saved to, which says nothing of the program.
    content = read_member(stream, name, member)
    return FileEntry(member.name.removeprefix(root), len(content), sha256(content).hexdigest())
