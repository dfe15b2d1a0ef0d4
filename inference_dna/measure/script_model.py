"""Measures a worker that serves one TorchScript file, such as a packed generator, into a complete genome.

Weights and post-processing are one file there: the section of post-processing names the programs inside it, and whether
they read anything from outside.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from inference_dna.canonical import Json, Refused
from inference_dna.files import FileEntry
from inference_dna.headers import FORMAT_NAME
from inference_dna.measure.code.script import script_reads
from inference_dna.measure.folder import measure_file, weights_section
from inference_dna.measure.packages import SCRIPT_PACKAGES
from inference_dna.measure.postprocess import embedded_section
from inference_dna.measure.pytorch.stack import CPU, Machine, torch_framework, torch_hardware
from inference_dna.measure.pytorch.state import parameter_dtypes
from inference_dna.measure.served_tokenizer import Paths, tokenizer_of

_ENGINE = "torch"
_FORM = "torchscript"


def measure(
    module: Any,
    tokenizer: Any,
    *,
    archive: Path,
    tokenizer_files: Sequence[FileEntry] = (),
    paths: Paths | None = None,
    environ: Mapping[str, str] | None = None,
    machine: Machine | None = None,
    bind: Sequence[str] = (),
) -> dict[str, Json]:
    """Measure all five sections. Call it after the module computed once: only then are all its libraries mapped.

    Args:
        module: What `torch.jit.load` gave.
        tokenizer: What requests go through; None for a module that takes no text.
        archive: The file that was loaded.
        tokenizer_files: Entries of the tokenizer's files, as `open_archive` gives them.
        paths: Own paths to token ids.
        environ: The environment of this process; None reads it.
        machine: Sources of hardware facts; None looks for them on this machine.
        bind: Evidence that the contract asks to be decisive.

    Raises:
        Refused: A fact could not be read; the message names it.
    """
    import torch

    environ = dict(os.environ) if environ is None else environ
    file = measure_file(archive)
    if file.form != _FORM:
        raise Refused(f"The file {archive.name!a} is no TorchScript; its form is {file.form}.")
    return {
        "format": FORMAT_NAME,
        "bind": list(bind),
        "tokenizer": _tokenizer(tokenizer, tokenizer_files, paths or Paths(), environ),
        "postprocess": embedded_section(file.code, reads=[str(read) for read in script_reads(archive)]),
        "framework": torch_framework(
            torch,
            engine=_ENGINE,
            packages=SCRIPT_PACKAGES,
            flags={"training": module.training},
            layout={"tensor": 1, "pipeline": 1, "data": 1, "expert": 1},
            environ=environ,
        ),
        "hardware": torch_hardware(torch, _device(module), machine or Machine()),
        "weights": weights_section(
            file, format_name=_FORM, load={"dtype": parameter_dtypes(module), "quantization": None}
        ),
    }


def _tokenizer(tokenizer: Any, files: Sequence[FileEntry], paths: Paths, environ: Mapping[str, str]) -> dict[str, Json]:
    if tokenizer is None:
        return {"kind": "none"}
    return tokenizer_of(tokenizer, files, paths=paths, environ=environ)


def _device(module: Any) -> str:
    """The kind of device the parameters are on; a module without any computes where its input is."""
    kinds = {parameter.device.type for parameter in module.parameters()} or {CPU}
    if len(kinds) > 1:
        raise Refused(f"The module lies on devices of several kinds: {', '.join(sorted(kinds))}.")
    return str(kinds.pop())
