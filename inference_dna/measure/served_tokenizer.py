"""Writes the tokenizer section of a worker: its files and what its own paths to token ids make of the probe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from inference_dna.canonical import Json
from inference_dna.files import FileEntry
from inference_dna.measure.bos import bos_counts
from inference_dna.measure.cache_folder import cache_faults
from inference_dna.measure.framework import read_packages
from inference_dna.measure.live_tokenizer import live_tokenizer
from inference_dna.measure.reading import read_content, reading_errors
from inference_dna.measure.tokenizer import Encode, RenderChat, probe, tokenizer_section

_LIBRARIES = ("sentencepiece", "tokenizers", "transformers")


@dataclass(frozen=True, slots=True)
class Paths:
    """The paths that requests take to token ids, where a worker does more than call its tokenizer.

    `further` are named like `multimodal` or `offline`; `dictionaries` are files outside the folder by label.
    """

    encode: Encode | None = None
    render_chat: RenderChat | None = None
    further: Mapping[str, Encode] = field(default_factory=dict)
    dictionaries: Mapping[str, Path] = field(default_factory=dict)


def tokenizer_of(
    tokenizer: Any, files: Sequence[FileEntry], *, paths: Paths, environ: Mapping[str, str]
) -> dict[str, Json]:
    """Write the tokenizer section.

    Args:
        tokenizer: What requests go through: an object of a known library, or a function from text to ids.
        files: The files it was loaded from; none where it is inside the weights.
        paths: The worker's own paths to ids, where it does more than call its tokenizer.
        environ: This process's environment, which names its cache folders.

    Raises:
        Refused: A path fails, or a dictionary cannot be read.
    """
    live = live_tokenizer(tokenizer)
    live = live.with_paths(paths.encode or live.encode, paths.render_chat or live.render_chat)
    answers = probe(live.encode, special_tokens=live.special_tokens, render_chat=live.render_chat)
    entries = [*files, *(_dictionary(label, path) for label, path in sorted(paths.dictionaries.items()))]
    return tokenizer_section(
        entries,
        answers,
        kind=live.kind if files else "embedded",
        settings={**live.settings, "bos": bos_counts(live, paths.further)},
        evidence={**live.evidence, "library": _library(), "cache_faults": list(cache_faults(environ))},
    )


def _dictionary(label: str, path: Path) -> FileEntry:
    name = f"extra/{label}/{path.name}"
    with reading_errors(f"the file {name!a}"), path.open("rb") as stream:
        return read_content(stream, name, keep=False).entry


def _library() -> str:
    """The libraries that make ids here, with their versions."""
    return " ".join(f"{package.name} {package.version}" for package in read_packages(_LIBRARIES))
