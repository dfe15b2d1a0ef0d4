"""Judges the structure of weight files before anything of them is hashed (provenance.md section 2).

A manifest is refused for a model that does not parse: a digest of garbage is a well-protected wrong model. Nothing here
loads a weight, unpickles, or runs what a file holds.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import BinaryIO

from inference_dna.canonical import Refused
from inference_dna.measure import gguf, onnx, safetensors, torch_file
from inference_dna.measure.inside import Inside, Part, Parts
from inference_dna.measure.model_config import NAME as CONFIG
from inference_dna.measure.model_config import check_config
from inference_dna.measure.shards import check_shard_sets

UNKNOWN = "other"
"""The format of weights that nobody here can look into; they are hashed all the same."""

_PLANS = (".engine", ".plan", ".trt")
_PLAN = "tensorrt"
_PREFERRED = (
    safetensors.SAFETENSORS, torch_file.TORCHSCRIPT, torch_file.PYTORCH, gguf.GGUF, onnx.ONNX, torch_file.EXPORTED,
)  # fmt: skip
"""Where several formats lie side by side, engines take the first of these."""
_MAX_TEXT_BYTES = 100 * 1000 * 1000
_POINTER = b"version https://git-lfs.github.com/spec/"


def inspect(stream: BinaryIO, name: str, size: int) -> Inside | None:
    """Look into one weights file.

    Args:
        stream: The file, open for reading in binary.
        name: Its name in the model folder; its ending says what it claims to be.
        size: Its size in bytes.

    Returns:
        None for a file of no known format.

    Raises:
        Refused: It is not what it claims to be.
    """
    stream.seek(0)
    if stream.read(len(_POINTER)) == _POINTER:
        raise Refused(f"The file {name!a} is a pointer of Git LFS, not the file itself; run `git lfs pull`.")
    if name.endswith(safetensors.SUFFIX):
        return safetensors.inspect_safetensors(stream, name, size)
    if name.endswith(safetensors.INDEX_SUFFIX):
        return safetensors.inspect_index(_text(stream, name, size), name)
    if name.rpartition("/")[2] == CONFIG:
        check_config(_text(stream, name, size), name)
    if name.endswith(gguf.SUFFIX):
        return gguf.inspect_gguf(stream, name, size)
    if name.endswith(onnx.SUFFIX):
        return onnx.inspect_onnx(stream, name, size)
    if name.endswith((*torch_file.SUFFIXES, *torch_file.LOOSE_SUFFIXES, torch_file.EXPORTED_SUFFIX)):
        return torch_file.inspect_torch(stream, name, size)
    return None


def check_parts(parts: Parts) -> None:
    """Judge the weight files of one model by what they say of each other.

    Raises:
        Refused: A shard is missing, or a file and one it names contradict each other.
    """
    check_shard_sets(parts)
    for name, part in parts.items():
        if part.inside is not None:
            part.inside.check(name, parts)


def format_of(parts: Parts) -> str:
    """Name the format an engine would load: that of the files nearest to the top, the preferred one of several."""
    found = {name: form for name, part in parts.items() if (form := _form(name, part)) is not None}
    if not found:
        return UNKNOWN
    top = min(name.count("/") for name in found)
    return _first({form for name, form in found.items() if name.count("/") == top})


def _text(stream: BinaryIO, name: str, size: int) -> bytes:
    if size > _MAX_TEXT_BYTES:
        raise Refused(f"The file {name!a} has {size} bytes; more than 100 MB are not read.")
    stream.seek(0)
    return stream.read()


def _form(name: str, part: Part) -> str | None:
    if name.endswith(_PLANS):
        return _PLAN
    return None if part.inside is None else part.inside.form


def _first(forms: Iterable[str]) -> str:
    return min(forms, key=lambda form: (_PREFERRED.index(form) if form in _PREFERRED else len(_PREFERRED), form))
