"""Who measures a model folder for a manifest: transformers, a function of your own, or nobody but the files."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from inference_dna.assurance import Assurance
from inference_dna.canonical import Json, Refused
from inference_dna.files import TensorEntry
from inference_dna.golden import Generate
from inference_dna.measure.at_rest import ASKED_FILES, measure_at_rest
from inference_dna.measure.folder import ModelFolder, measure_model
from inference_dna.measure.loading import load_transformers
from inference_dna.measure.unasked import AT_REST
from inference_dna.measure.work import Work
from inference_dna.starting.loaded_model import LoadedModel

AUTO, TRANSFORMERS = "auto", "transformers"
_OTHER_WAYS = "Measure with a function of your own (--engine module:function), or at rest (--engine at-rest)."
_CONFIG = "config.json"


@dataclass(frozen=True, slots=True)
class Asked:
    """What is measured and how.

    `engine` is one of `auto`, `transformers` and `at-rest`, or `module:function`. `probe` says whether the tokenizer
    must be asked; None asks it where that is possible.
    """

    model: Path
    engine: str = AUTO
    exclude: tuple[str, ...] = ()
    probe: bool | None = None
    work: Work = field(default_factory=Work)


@dataclass(frozen=True, slots=True)
class Measured:
    """A genome, who measured it, and how far that reaches.

    `generate` asks the model where one was loaded; `tensors` are there where they were asked for.
    """

    genome: Mapping[str, Json]
    engine: str
    assurance: Assurance = Assurance.FULL_HASH
    generate: Generate | None = None
    tensors: tuple[TensorEntry, ...] | None = None


def measure(asked: Asked) -> Measured:
    """Measure a model with the engine that was asked for.

    `auto` is transformers where the folder names an architecture of it and it is installed, else at rest.

    Raises:
        Refused: A fact could not be read, the engine is missing, or it cannot load the model.
    """
    engine = _chosen(asked) if asked.engine == AUTO else asked.engine
    if engine == AT_REST:
        return _at_rest(asked)
    if engine == TRANSFORMERS:
        return _transformers(asked)
    return Measured(_own_genome(engine, asked.model), engine)


def _chosen(asked: Asked) -> str:
    has_library = all(importlib.util.find_spec(name) is not None for name in ("transformers", "torch"))
    return TRANSFORMERS if has_library and architecture(asked.model) is not None else AT_REST


def architecture(model: Path) -> str | None:
    """Name the transformers class of a folder, None where its configuration names none."""
    try:
        config = json.loads((model / _CONFIG).read_bytes())
    except (OSError, ValueError):
        return None
    named = config.get("architectures") if isinstance(config, dict) else None
    return named[0] if isinstance(named, list) and named and isinstance(named[0], str) else None


def _at_rest(asked: Asked) -> Measured:
    folder = _folder(asked, keep=True)
    genome = measure_at_rest(folder, environ=os.environ, ask=asked.probe)
    return Measured(genome, AT_REST, folder.assurance, tensors=folder.tensors)


def _transformers(asked: Asked) -> Measured:
    # Files first: what is not what it claims to be is refused before any library opens it.
    folder = _folder(asked, keep=False)
    try:
        model, tokenizer = load_transformers(asked.model, architecture(asked.model))
    except Refused as refused:
        raise Refused(f"{refused} {_OTHER_WAYS}") from refused
    loaded = LoadedModel(model, tokenizer, asked.model, folder=folder)
    loaded.warm_up()
    return Measured(loaded.measure(()), TRANSFORMERS, folder.assurance, loaded.generate, folder.tensors)


def _folder(asked: Asked, *, keep: bool) -> ModelFolder:
    """Files that are wanted are kept where they are there: asking for one that is missing would be refused."""
    present = [name for name in ASKED_FILES if keep and asked.probe is not False and (asked.model / name).is_file()]
    return measure_model(asked.model, exclude=asked.exclude, keep=present, work=asked.work)


def _own_genome(engine: str, model: Path) -> Mapping[str, Json]:
    measure_own = _own_function(engine)
    try:
        genome = measure_own(model)
    except Refused:
        raise
    # Somebody else's code fails in ways of its own.
    except Exception as error:
        raise Refused(f"The function {engine!a} ended in {type(error).__name__}: {error}.") from error
    if not isinstance(genome, Mapping):
        raise Refused(f"The function {engine!a} gave no genome, but a {type(genome).__name__}.")
    return genome


def _own_function(name: str) -> Callable[[Path], Mapping[str, Json]]:
    module_name, colon, function_name = name.partition(":")
    if not colon or not module_name or not function_name or module_name.startswith("."):
        raise Refused(f"{name!a} is no engine; name {TRANSFORMERS}, {AT_REST} or a function as module:function.")
    # As a server finds the application it is told to run: modules beside where the command is given.
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found = getattr(importlib.import_module(module_name), function_name)
    except (ImportError, AttributeError) as error:
        raise Refused(f"The function {name!a} cannot be imported: {error}.") from error
    return cast("Callable[[Path], Mapping[str, Json]]", found)
