"""Measures a model that no engine has loaded: its files, and its tokenizer where a library can be asked.

What only an engine knows stays unknown: effective values of post-processing and the precision of loaded weights. So the
files that such values come from decide here, byte by byte, and the engine is called `at-rest`: a manifest of a model at
rest proves its artifact, and never passes for a serving stack. Each section says as evidence what nobody was asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, distribution
from typing import Any

from inference_dna.canonical import Json, Refused
from inference_dna.digest import ALGORITHM
from inference_dna.files import files_digest
from inference_dna.headers import FORMAT_NAME
from inference_dna.measure.folder import ModelFolder, weights_section
from inference_dna.measure.framework import framework_section, read_package
from inference_dna.measure.hardware import cpu_hardware
from inference_dna.measure.live_tokenizer import live_tokenizer
from inference_dna.measure.places import RULE
from inference_dna.measure.tokenizer import probe, tokenizer_section, unasked_section
from inference_dna.measure.unasked import AT_REST, EVIDENCE, FILES

FAST, PIECES = "tokenizer.json", ("tokenizer.model", "spiece.model", "sentencepiece.bpe.model")
ASKED_FILES = (FAST, *PIECES)
"""Files of which a tokenizer can be loaded without knowing its class, best first; `keep` these when measuring."""
_EMBEDDED_TOKENIZER = ("gguf", "ggml")
_LIBRARIES = ("safetensors", "sentencepiece", "tokenizers")
_NOT_LOADED = "no engine was loaded"


class CannotAsk(Refused):
    """No library here can load this tokenizer: nothing is wrong with it, and nothing is known of what it does."""


def measure_at_rest(model: ModelFolder, *, environ: Mapping[str, str], ask: bool | None = None) -> dict[str, Json]:
    """Write the genome of a measured folder.

    Args:
        model: The folder, with the bytes of those `ASKED_FILES` that it has.
        environ: The environment of this process.
        ask: Whether the tokenizer must be asked the probe; None asks it where a library here can. A section that
            nobody asked says so.

    Raises:
        Refused: A library that is here cannot load the tokenizer's file, or the probe must be asked and cannot.
    """
    return {
        "format": FORMAT_NAME,
        "bind": [],
        "weights": weights_section(
            model,
            format_name=model.form,
            load={"dtype": None, "quantization": None},
            evidence={EVIDENCE: _NOT_LOADED},
        ),
        "tokenizer": _tokenizer(model, ask=ask),
        "postprocess": _postprocess(model),
        "framework": framework_section(
            [read_package(name) for name in _LIBRARIES if _is_installed(name)],
            engine={"name": AT_REST, "version": None, "commit": None},
            environ=environ,
            flags={},
            parallel={},
            deterministic={},
        ),
        # No engine is loaded: whatever operator libraries this process has mapped say nothing of the model.
        "hardware": {**cpu_hardware(), "libraries": None},
    }


def _tokenizer(model: ModelFolder, *, ask: bool | None) -> dict[str, Json]:
    if not model.tokenizer and model.form not in _EMBEDDED_TOKENIZER:
        return {"kind": "none"}
    if ask is False:
        return unasked_section(model.tokenizer, "nobody asked it: --no-probe")
    try:
        loaded = _loaded(model)
    except CannotAsk as cannot:
        if ask:
            raise Refused(
                f"The tokenizer cannot be asked the probe: {cannot}. Measure with the engine (install "
                "dna-gateway[models]), or leave --probe out."
            ) from cannot
        return unasked_section(model.tokenizer, str(cannot))
    live = live_tokenizer(loaded)
    answers = probe(live.encode, special_tokens=live.special_tokens)
    return tokenizer_section(model.tokenizer, answers, kind=live.kind, settings=live.settings, evidence=live.evidence)


def _loaded(model: ModelFolder) -> Any:
    for name in ASKED_FILES:
        if name in model.kept:
            load = _load_fast if name == FAST else _load_pieces
            return _asked(name, load, model.kept[name])
    raise CannotAsk(
        "none of its files can be loaded by itself"
        if model.tokenizer
        else "it lies inside the weights, and no engine was loaded"
    )


def _asked(name: str, load: Callable[[bytes], Any], content: bytes) -> Any:
    if not content:
        raise Refused(f"The file {name!a} is empty; no tokenizer can be loaded from it.")
    try:
        return load(content)
    except ImportError as error:
        raise CannotAsk(f"{error.name} is not installed") from error
    # The libraries raise whatever their compiled parts raise, bare exceptions among them.
    except Exception as error:
        raise Refused(f"The file {name!a} cannot be loaded as a tokenizer: {error}.") from error


def _load_fast(content: bytes) -> Any:
    from tokenizers import Tokenizer

    return Tokenizer.from_str(content.decode("utf-8"))


def _load_pieces(content: bytes) -> Any:
    from sentencepiece import SentencePieceProcessor

    return SentencePieceProcessor(model_proto=content)


def _postprocess(model: ModelFolder) -> dict[str, Json]:
    """The files that values come from decide: what an engine would make of them is not known here."""
    code = {name: ALGORITHM + files_digest(members) for name, members in sorted(model.code.items())}
    if model.postprocess:
        files: list[Json] = [entry.document() for entry in model.postprocess]
        held: dict[str, Json] = {"code": code} if code else {}
        return {"kind": FILES, "rule": RULE, "files": files, **held, "evidence": {EVIDENCE: _NOT_LOADED}}
    return {"kind": "embedded", "code": code} if code else {"kind": "none"}


def _is_installed(name: str) -> bool:
    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True
