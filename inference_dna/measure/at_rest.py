"""Measures a model that no engine has loaded: its files, and its tokenizer where a library can be asked.

What only an engine knows stays unknown: effective values of post-processing and the precision of loaded weights. So the
files that such values come from decide here, byte by byte, and the engine is called `at-rest`: a manifest of a model at
rest proves its artifact, and never passes for a serving stack.
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
from inference_dna.measure.tokenizer import probe, tokenizer_section

ENGINE = "at-rest"
FAST, PIECES = "tokenizer.json", ("tokenizer.model", "spiece.model", "sentencepiece.bpe.model")
ASKED_FILES = (FAST, *PIECES)
"""Files of which a tokenizer can be loaded without knowing its class, best first; `keep` these when measuring."""
_EMBEDDED_TOKENIZER = ("gguf", "ggml")
_LIBRARIES = ("safetensors", "sentencepiece", "tokenizers")


def measure_at_rest(model: ModelFolder, *, environ: Mapping[str, str], ask: bool = True) -> dict[str, Json]:
    """Write the genome of a measured folder.

    Args:
        model: The folder, with the bytes of those `ASKED_FILES` that it has.
        environ: The environment of this process.
        ask: Whether the tokenizer is asked the probe; without it the section says that nobody asked.

    Raises:
        Refused: There is a tokenizer, and no library here can load it.
    """
    return {
        "format": FORMAT_NAME,
        "bind": [],
        "weights": weights_section(model, format_name=model.form, load={"dtype": None, "quantization": None}),
        "tokenizer": _tokenizer(model, ask=ask),
        "postprocess": _postprocess(model),
        "framework": framework_section(
            [read_package(name) for name in _LIBRARIES if _is_installed(name)],
            engine={"name": ENGINE, "version": None, "commit": None},
            environ=environ,
            flags={},
            parallel={},
            deterministic={},
        ),
        # No engine is loaded: whatever operator libraries this process has mapped say nothing of the model.
        "hardware": {**cpu_hardware(), "libraries": None},
    }


def _tokenizer(model: ModelFolder, *, ask: bool) -> dict[str, Json]:
    if not model.tokenizer:
        return {"kind": "embedded", "probe": None} if model.form in _EMBEDDED_TOKENIZER else {"kind": "none"}
    if not ask:
        return {
            "kind": "files",
            "rule": RULE,
            "files": [entry.document() for entry in model.tokenizer],
            "probe": None,
            "settings": {},
        }
    live = live_tokenizer(_loaded(model))
    answers = probe(live.encode, special_tokens=live.special_tokens)
    return tokenizer_section(model.tokenizer, answers, kind=live.kind, settings=live.settings, evidence=live.evidence)


def _loaded(model: ModelFolder) -> Any:
    for name in ASKED_FILES:
        if name in model.kept:
            load = _load_fast if name == FAST else _load_pieces
            return _asked(name, load, model.kept[name])
    raise Refused(
        "The tokenizer cannot be asked the probe: none of its files can be loaded by itself. Measure with the engine "
        "(install dna-gateway[models]), or leave the probe out: --no-probe."
    )


def _asked(name: str, load: Callable[[bytes], Any], content: bytes) -> Any:
    try:
        return load(content)
    except ImportError as error:
        raise Refused(
            f"The tokenizer cannot be asked the probe: {error.name} is not installed. Install dna-gateway[models], or "
            "leave the probe out: --no-probe."
        ) from error
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
        return {"kind": "files", "rule": RULE, "files": files, **({"code": code} if code else {})}
    return {"kind": "embedded", "code": code} if code else {"kind": "none"}


def _is_installed(name: str) -> bool:
    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True
