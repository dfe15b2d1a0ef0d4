"""Measures a running engine from outside into a complete genome (dna.md section 1, provenance.md section 7).

Read `measure` to see what is asked of whom: the disk for the weights, the engine's own paths for token ids, the engine
for its defaults, the kernel for its command line and environment, its interpreter for packages, the driver for devices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from inference_dna.attest.answers import Answers, member
from inference_dna.attest.asked import Asked
from inference_dna.attest.command_line import adapters_named, option, read_flags
from inference_dna.attest.content import reachable
from inference_dna.attest.engine import Engine, Told
from inference_dna.attest.interpreter import ask_tokenizer, interpreter
from inference_dna.attest.outside import Outside, framework_outside, hardware_outside
from inference_dna.attest.process import Process, arguments, environment, mappings, seen_by
from inference_dna.attest.tokens import special_tokens
from inference_dna.canonical import Json, Refused
from inference_dna.headers import FORMAT_NAME
from inference_dna.measure.adapters import measure_adapter
from inference_dna.measure.environment import settings_environment
from inference_dna.measure.folder import ModelFolder, measure_model, weights_section
from inference_dna.measure.places import RULE
from inference_dna.measure.tokenizer import Probe, probe, tokenizer_section, unasked_section

FAST = "tokenizer.json"
TEMPLATES = ("chat_template.jinja", "chat_template.json", "tokenizer_config.json")
_LOOKED_INTO = (FAST, *TEMPLATES)


@dataclass(frozen=True, slots=True)
class Measured:
    """A genome document, the folder it was made of, and what the process had mapped."""

    genome: Mapping[str, Json]
    folder: ModelFolder
    maps: str


def measure(asked: Asked, process: Process) -> Measured:
    """Measure all five sections.

    Raises:
        Refused: A fact could not be read; the message names it.
    """
    answers = asked.answers()
    told = asked.engine.tell(answers, asked.served_model)
    # First of all: only an engine that computed once has all its libraries mapped.
    golden = asked.engine.golden(answers, told.model)
    maps = mappings(process)
    outside = Outside(process, maps, interpreter(process, maps), _flags(asked, process))
    _check_root(asked, told, outside)
    folder = measure_model(asked.model, exclude=asked.exclude, keep=_kept(asked.model), work=asked.work)
    genome: dict[str, Json] = {
        "format": FORMAT_NAME,
        "bind": list(asked.bind),
        "weights": _weights(folder, told, outside),
        "tokenizer": _tokenizer(asked, told, folder, golden=golden, process=process),
        "postprocess": _postprocess(told, folder, golden=golden, process=process),
        "framework": framework_outside(asked.engine, told, outside),
        "hardware": hardware_outside(outside, nvml=asked.nvml, nvidia_smi=asked.nvidia_smi),
    }
    return Measured(genome, folder, maps)


def _flags(asked: Asked, process: Process) -> dict[str, Json]:
    return read_flags(asked.words(process), model=asked.model, where=partial(seen_by, process))


def _check_root(asked: Asked, told: Told, outside: Outside) -> None:
    """Refuse to measure one folder for an engine that says it has loaded another."""
    if told.root is None or "/" not in told.root:
        return
    path = outside.where(told.root)
    # A name on a hub looks like a path; one that is none here says nothing.
    if path.exists() and not path.samefile(asked.model):
        raise Refused(f"The engine says that it has loaded {told.root!a}, and {str(asked.model)!a} is measured.")


def _kept(model: Path) -> list[str]:
    return [name for name in _LOOKED_INTO if (model / name).is_file()] if model.is_dir() else []


def _weights(folder: ModelFolder, told: Told, outside: Outside) -> dict[str, Json]:
    named = {**told.adapters, **adapters_named(arguments(outside.process))}
    digests = {
        name: measure_adapter(name, reachable(outside.where(path)), base_tensors=folder.tensor_names).digest
        for name, path in named.items()
    }
    return weights_section(
        folder,
        format_name=folder.form,
        load={"dtype": told.dtype, "quantization": option(outside.flags, "quantization", "quantize")},
        evidence={"root": told.root},
        adapters=digests,
    )


def _tokenizer(asked: Asked, told: Told, folder: ModelFolder, *, golden: Json, process: Process) -> dict[str, Json]:
    found = _probe(asked, told, folder, process)
    if found is None:
        return (
            unasked_section(folder.tokenizer, "its server has no way to ask") if folder.tokenizer else {"kind": "none"}
        )
    answers, path = found
    kind = "huggingface-fast" if FAST in folder.kept else "files" if folder.tokenizer else "embedded"
    settings: dict[str, Json] = {"path": path, "prompt_tokens": member(golden, "prompt_tokens")}
    return tokenizer_section(folder.tokenizer, answers, kind=kind, settings=settings)


def _probe(asked: Asked, told: Told, folder: ModelFolder, process: Process) -> tuple[Probe, str] | None:
    """Ask through the engine's own path, else in its own interpreter; None where neither exists."""
    answers = asked.answers()
    if asked.engine.encode(answers, told.model, "a") is not None:
        encode = partial(_encoded, asked.engine, answers, told.model)
        render = partial(_rendered, asked.engine, answers, told.model) if _has_chat(told, folder) else None
        if render is not None and asked.engine.render(answers, told.model, ({"role": "user", "content": "a"},)) is None:
            render = None
        return probe(encode, special_tokens=special_tokens(folder.kept.get(FAST)), render_chat=render), "server"
    if asked.engine.library and folder.tokenizer:
        return ask_tokenizer(process, asked.model), "library"
    return None


def _encoded(engine: Engine, answers: Answers, model: str, text: str) -> Sequence[int]:
    ids = engine.encode(answers, model, text)
    if ids is None:
        raise Refused(f"The engine gave no token ids for {text!a}.")
    return ids


def _rendered(engine: Engine, answers: Answers, model: str, conversation: Sequence[Mapping[str, str]]) -> Sequence[int]:
    ids = engine.render(answers, model, conversation)
    if ids is None:
        raise Refused("The engine gave no token ids for a conversation.")
    return ids


def _has_chat(told: Told, folder: ModelFolder) -> bool:
    """Whether there is a template; without one, engines refuse a conversation."""
    in_config = b'"chat_template"' in folder.kept.get("tokenizer_config.json", b"")
    return in_config or any(name in folder.kept for name in TEMPLATES[:2]) or bool(member(told.values, "chat_template"))


def _postprocess(told: Told, folder: ModelFolder, *, golden: Json, process: Process) -> dict[str, Json]:
    """What the engine tells of its defaults, and the file such defaults come from: an engine seldom tells all."""
    files: list[Json] = [entry.document() for entry in folder.postprocess]
    held: dict[str, Json] = {"rule": RULE, "files": files} if files else {}
    environ = settings_environment(environment(process))
    return {
        "kind": "generation",
        "values": told.values,
        **held,
        "evidence": {"golden_answer": golden, "settings_environment": environ},
    }
