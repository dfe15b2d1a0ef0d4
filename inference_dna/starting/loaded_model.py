"""A transformers model in memory: measured, warmed up, asked, and compared with the files it was loaded from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from inference_dna.assurance import Assurance
from inference_dna.canonical import Json, Refused
from inference_dna.files import TensorEntry
from inference_dna.measure.folder import ModelFolder, measure_model
from inference_dna.measure.loading import greedy
from inference_dna.measure.module import ModuleDigest, measure_module
from inference_dna.measure.transformers_model import measure
from inference_dna.measure.work import Work

_WARM_UP_TOKENS = 4
_NAMES_SHOWN = 3


@dataclass
class LoadedModel:
    """A loaded model, its tokenizer, and where both came from. Files are read once.

    `ways` is what the worker does beside it, as `transformers_model.measure` takes it; `work` is how files are hashed;
    `folder` is what was read, None until it is measured.
    """

    model: Any
    tokenizer: Any
    path: Path
    ways: Mapping[str, Any] = field(default_factory=dict)
    work: Work = field(default_factory=lambda: Work(tensors=True))
    folder: ModelFolder | None = None

    def measure(self, bind: Sequence[str]) -> Mapping[str, Json]:
        """Measure all five sections of this process.

        Raises:
            Refused: A fact could not be read.
        """
        if self.folder is None:
            self.folder = measure_model(self.path, work=self.work)
        return measure(self.model, self.tokenizer, folder=self.folder, bind=bind, **self.ways)

    @property
    def assurance(self) -> Assurance:
        """How far the measurement reached; nothing measured is nothing but a word."""
        return Assurance.DECLARED if self.folder is None else self.folder.assurance

    def difference(self) -> str | None:
        """Say which tensors in memory are not those of the files; None where all are.

        Raises:
            Refused: The files hold no tensors that can be told apart, or were never measured.
        """
        if self.folder is None or self.folder.tensors is None:
            raise Refused(
                "The tensors in memory cannot be compared: the weights are not safetensors. Save them so, or say "
                "compare_loaded=False."
            )
        return differing_tensors(self.folder.tensors, measure_module(self.model))

    def warm_up(self) -> None:
        """Run one inference and drop what it gives."""
        generate = self.generate
        ids = self.tokenizer("warm up")["input_ids"]
        if generate is not None:
            generate(ids, _WARM_UP_TOKENS)
            return
        import torch

        with torch.inference_mode():
            self.model(torch.tensor([ids], device=self.model.device))

    @property
    def generate(self) -> Callable[[Sequence[int], int], Sequence[int]] | None:
        """Greedy answers; None for a model that generates nothing."""
        return greedy(self.model)


def differing_tensors(files: Sequence[TensorEntry], module: ModuleDigest) -> str | None:
    """Compare tensors in memory with those of the files by name, dtype, shape and content; None where all are equal.

    A tied tensor has several names in memory and one in the files: a name that the files lack is compared by content.

    Raises:
        Refused: A tensor in memory has neither name nor content in the files, as where loading fuses several into one.
    """
    by_name = {entry.name: entry for entry in files}
    contents = {_content(entry) for entry in files}
    fused = [entry.name for entry in module.tensors if entry.name not in by_name and _content(entry) not in contents]
    if fused:
        raise Refused(
            f"The tensors {_shown(fused)} in memory have no counterpart in the files; where loading fuses or converts "
            "tensors, say compare_loaded=False."
        )
    differing = [entry for entry in module.tensors if by_name.get(entry.name, entry) != entry]
    if not differing:
        return None
    held, first = by_name[differing[0].name], differing[0]
    converted = "" if held.dtype == first.dtype else f" ({held.dtype} in the files, {first.dtype} in memory)"
    return _shown([entry.name for entry in differing]) + converted


def _shown(names: Sequence[str]) -> str:
    more = len(names) - _NAMES_SHOWN
    return ", ".join(names[:_NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _content(entry: TensorEntry) -> tuple[str, tuple[int, ...], str]:
    return entry.dtype, entry.shape, entry.sha256
