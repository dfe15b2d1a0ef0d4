"""What an engine's command line says that shapes computation (provenance.md sections 1 and 5).

Values are shown for options on the list; of any other option the digest of its value counts, so a new option fails
closed and shows nothing. Secrets are left out, and so is what addresses, names or only talks. An option that names a
file or folder counts by its content: the same files at two mount points are no drift.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from hashlib import sha256
from pathlib import Path

from inference_dna.attest.content import content_digest
from inference_dna.canonical import Json
from inference_dna.digest import ALGORITHM

Where = Callable[[str], Path]
"""Where a path of the engine lies for us."""

_SHOWN = (
    "*dtype*", "*quantiz*", "*parallel*", "*attention*", "*attn*", "*backend*", "*eager*", "*prefix-cach*",
    "*prefill*", "*max-model-len*", "*max-num-*", "*max-total-tokens", "*max-input-*", "*max-batch-*",
    "*context-length", "*ctx-size", "*seed*", "*cache-type*", "*kv-cache*", "*speculative*", "*num-*", "*threads*",
    "*batch*", "*gpu-layers", "*-rope-*", "*generation-config*", "*parser", "*tokenizer-mode", "*trust-remote-code",
    "*revision", "*deterministic*", "*compile*", "n-ctx", "chat-format",
    "*cuda-graph*", "*mem-fraction*", "*gpu-memory-utilization", "*flash*", "*device", "*temp", "*top-k", "*top-p",
    "*min-p", "*penalty*", "tp*", "pp*", "dp*", "ep*", "ngl", "c", "b", "ub", "t", "fa", "ctk", "ctv", "np", "s",
)  # fmt: skip
_TALKS = (
    "*host*", "*port", "*port-*", "*log*", "*served-model-name", "*alias", "a", "*cors*", "*origin*", "*ssl*",
    "*metrics*",
    "*root-path", "*uds", "*otlp*", "*trace*", "*fingerprint*", "*nnodes", "*node-rank", "*dist-init-addr",
    "*download-dir", "*cache-dir", "*timeout*", "*hostname", "*json-output", "*usage*", "*access*", "verbose", "v",
)  # fmt: skip
_SECRET_ENDS = ("key", "token", "secret", "password", "credentials")


def with_environment(arguments: Sequence[str], environ: Mapping[str, str], options: Sequence[str]) -> tuple[str, ...]:
    """Add to a command line what an engine takes from its environment, as if it stood there.

    Args:
        arguments: The command line.
        environ: The environment of the process.
        options: Options that may be set by a variable of the same name, whatever its case.
    """
    found = sorted((name.lower(), value) for name, value in environ.items() if name.lower() in options)
    return (*arguments, *(f"--{name}={value}" for name, value in found))


def read_flags(arguments: Sequence[str], *, model: Path, where: Where) -> dict[str, Json]:
    """Read the options of a command line.

    Args:
        arguments: The command line, program first.
        model: The folder or file that is measured as the weights; where it is named it says nothing more.
        where: Where paths of the engine lie.

    Returns:
        Values by the option's name without dashes, `true` for one that stands alone.

    Raises:
        Refused: A file that is named cannot be read.
    """
    flags: dict[str, list[str]] = {}
    for name, values in _options(arguments):
        if not _is_left_out(name):
            flags.setdefault(name, []).extend(_value(name, value, model=model, where=where) for value in values)
    return {name: _written(flags[name]) for name in sorted(flags) if not _is_model(name, flags[name])}


def named_paths(arguments: Sequence[str], where: Where) -> tuple[Path, ...]:
    """Files and folders that count by their content, for somebody to watch; a file of log lines is none of them."""
    counted = [values for name, values in _options(arguments) if not _is_left_out(name)]
    paths = [_path_of(value, where) for values in counted for value in values]
    return tuple(path for path in paths if path is not None)


_ADAPTERS = ("lora-modules", "lora-paths")
_MODEL = "\0model"
_NAMES_MODEL = ("model", "model-path", "model-id", "model-repository", "model-store", "m")


def _options(arguments: Sequence[str]) -> list[tuple[str, list[str]]]:
    found: list[tuple[str, list[str]]] = []
    for word in arguments[1:]:
        if word.startswith("-") and not word.lstrip("-")[:1].isdigit() and word.strip("-"):
            name, equals, value = word.lstrip("-").partition("=")
            found.append((name.replace("_", "-").lower(), [value] if equals else []))
        elif found:
            found[-1][1].append(word)
    return found


def _is_model(name: str, values: list[str]) -> bool:
    return name in _NAMES_MODEL and values == [_MODEL]


def _is_left_out(name: str) -> bool:
    return name.endswith(_SECRET_ENDS) or (_matches(name, _TALKS) and not _matches(name, ("*logit*", "*logprob*")))


def _value(name: str, value: str, *, model: Path, where: Where) -> str:
    path = _path_of(value, where)
    if path is not None:
        if path.samefile(model):
            return _MODEL
        label = value.partition("=")[0] + "=" if "=" in value else ""
        return f"{label}{ALGORITHM}{content_digest(path)}"
    if _matches(name, _SHOWN):
        return value
    return ALGORITHM + sha256(value.encode("utf-8", "surrogateescape")).hexdigest()


def _path_of(value: str, where: Where) -> Path | None:
    """The file or folder a value names, as `PATH` or `NAME=PATH`; a bare word is a name, whatever lies beside."""
    named = value.partition("=")[2] or value
    if "/" not in named or "\0" in named:
        return None
    path = where(named)
    try:
        return path if path.is_file() or path.is_dir() else None
    except OSError:  # too long for a name: it is none
        return None


def _written(values: list[str]) -> Json:
    kept: list[Json] = [value for value in values if value != _MODEL]
    if not kept:
        return True
    return kept[0] if len(kept) == 1 else kept


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def option(flags: Mapping[str, Json], *names: str) -> str | None:
    """The value of the first of some options that is given with one value; None where none is."""
    return next((value for name in names if isinstance(value := flags.get(name), str)), None)


def adapters_named(arguments: Sequence[str]) -> dict[str, str]:
    """The paths of adapters that a command line names, by name."""
    values = [value for name, given in _options(arguments) if name in _ADAPTERS for value in given]
    pairs = [value.partition("=") for value in values]
    return {name: path for name, equals, path in pairs if equals and "/" in path}
