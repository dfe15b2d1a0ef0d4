"""Binds a model and its post-processing into one file, `generator_<version>.ts`, that reads nothing from outside.

TorchScript compiles the settings in as constants: neither the environment, nor a configuration store, nor a request can
change them, and the digest of the weights covers them. What the file offers is said in `generator.py`.
"""

from __future__ import annotations

import json
import warnings
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from inference_dna.binding.clean_archive import ROOT, copy_clean
from inference_dna.binding.generator import text_generator
from inference_dna.binding.settings import BoundSettings
from inference_dna.canonical import Json, Refused
from inference_dna.files import FileEntry
from inference_dna.measure.code.reads import Read
from inference_dna.measure.code.script import script_reads
from inference_dna.measure.reading import read_content, reading_errors
from inference_dna.version_text import version_text

_SETTINGS_FILE = "postprocess.json"


def pack_generator(
    model: Any, settings: BoundSettings, *, version: str, target: Path, processor: Any = None
) -> FileEntry:
    """Write `generator_<version>.ts`: token ids in, token ids out.

    Args:
        model: A model of transformers, or a module from ids [1, n] to scores [1, n, vocabulary].
        settings: What is compiled in.
        version: The model's version.
        target: The folder to write into.
        processor: Own module from scores [1, vocabulary] and ids [1, n] to scores; it must compile and runs first.

    Raises:
        Refused: The model or the processor cannot be compiled, answers otherwise once compiled, or reads anything from
            outside: then nothing is written.
    """
    name = f"generator_{version_text(version)}.ts"
    fresh = target / f".{name}"
    try:
        with reading_errors(f"or writing the generator {name!a}"):
            _save(_compiled(model, settings, processor), settings, fresh)
            reads = script_reads(fresh)
            if reads:
                raise Refused(f"The post-processing is not bound to the model. {_listed(reads)}")
            fresh.replace(target / name)
            with (target / name).open("rb") as stream:
                return read_content(stream, name, keep=False).entry
    finally:
        fresh.unlink(missing_ok=True)


def check_generator(archive: Path) -> Mapping[str, Json]:
    """Check that a packed generator reads nothing from outside, and say what is compiled in.

    Raises:
        Refused: It reads something, is no archive, or does not say its settings.
    """
    reads = script_reads(archive)
    if reads:
        raise Refused(f"The post-processing in {archive.name!a} is not bound to the model. {_listed(reads)}")
    try:
        with zipfile.ZipFile(archive) as members:
            settings = json.loads(members.read(f"{ROOT}/extra/{_SETTINGS_FILE}"))
    except (KeyError, ValueError) as error:
        raise Refused(f"The archive {archive.name!a} does not say which settings are compiled in.") from error
    return dict(settings)


def _listed(reads: Sequence[Read]) -> str:
    return " ".join(f"{read}." for read in reads)


def _compiled(model: Any, settings: BoundSettings, processor: Any) -> Any:
    import torch

    with warnings.catch_warnings(), torch.no_grad():
        # Tracing warns of every branch it settles; what matters is checked below, on another length.
        warnings.simplefilter("ignore")
        try:
            scores = _traced(model)
            _check_ids(scores, settings)
            return torch.jit.script(text_generator(scores, settings, processor).eval())
        except Refused:
            raise
        # The compiler refuses with whatever its parts raise.
        except Exception as error:
            raise Refused(f"The generator cannot be compiled: {type(error).__name__}: {error}") from error


def _traced(model: Any) -> Any:
    """The model as a graph from ids to scores, sure that it does not depend on the length it was traced with."""
    import torch

    if isinstance(model, torch.jit.ScriptModule):
        return model
    eager = _scores_of(model).eval()
    device = next(eager.parameters()).device
    # Small ids, which every vocabulary has.
    short, long = ((torch.arange(length, device=device) % 3).unsqueeze(0) for length in (5, 11))
    trace: Any = torch.jit.trace
    traced = trace(eager, (short,), check_trace=False)
    for ids in (short, long, long[:, :1]):
        if not torch.equal(traced(ids), eager(ids)):
            raise Refused(f"The model answers otherwise once compiled, at a length of {ids.shape[1]} tokens.")
    return traced


def _check_ids(scores: Any, settings: BoundSettings) -> None:
    """Refuse ids that the model has no score for: the file would fail when it is first asked."""
    import torch

    devices = [parameter.device for parameter in scores.parameters()]
    vocabulary = scores(torch.zeros((1, 1), dtype=torch.long, device=devices[0] if devices else None)).shape[-1]
    unknown = [token for word in settings.bad_words for token in word if token >= vocabulary]
    if unknown:
        raise Refused(f"bad_words holds {unknown[0]}, and the model has the tokens 0 to {vocabulary - 1}.")


def _scores_of(model: Any) -> Any:
    import torch

    class Scores(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            scores: torch.Tensor = self.model(input_ids=ids, use_cache=False).logits
            return scores

    return Scores() if hasattr(model, "generation_config") else model


def _save(compiled: Any, settings: BoundSettings, target: Path) -> None:
    import torch

    raw = target.with_suffix(".raw")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            torch.jit.save(compiled, str(raw), _extra_files={_SETTINGS_FILE: json.dumps(settings.document())})
        copy_clean(raw, target)
    finally:
        raw.unlink(missing_ok=True)
