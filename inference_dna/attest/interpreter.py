"""The Python an engine runs in: which packages it has, and what its own libraries make of the probe texts.

What is installed for the measurer says nothing of the engine. Its folders of packages are found by what is mapped from
them, for a process does not say which environment it is in; its tokenizer is loaded by its own interpreter.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distributions
from pathlib import Path
from typing import cast

from inference_dna.attest.process import (
    Process,
    arguments,
    environment,
    mapped_files,
    program,
    seen_by,
    shares_files,
)
from inference_dna.canonical import Json, Refused, parse_json
from inference_dna.measure.tokenizer import Probe
from inference_dna.probe import PROBE_CHAT, PROBE_TEXTS

_SITES = ("site-packages", "dist-packages")
_TIMEOUT_S = 120
_ASK = """
import json, sys, warnings
warnings.simplefilter("ignore")
asked = json.load(sys.stdin)
from transformers import AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained(asked["folder"], local_files_only=True, trust_remote_code=False)
special = sorted((id, str(token)) for id, token in tokenizer.added_tokens_decoder.items() if token.special)
texts = asked["texts"] + [token for _, token in special]
chat = None
if tokenizer.chat_template:
    chat = tokenizer.apply_chat_template(asked["chat"], add_generation_prompt=True, tokenize=True, return_dict=False)
json.dump({"texts": texts, "ids": [tokenizer(text)["input_ids"] for text in texts], "chat": chat}, sys.stdout)
"""


@dataclass(frozen=True, slots=True)
class Interpreter:
    """Folders of packages of an engine, as they lie for us; none where the engine is no Python program."""

    sites: tuple[Path, ...]

    def find(self, name: str) -> Distribution:
        """Installed metadata of one package, as `importlib.metadata.distribution` gives it."""
        if self.sites:
            for found in distributions(name=name, path=[str(site) for site in self.sites]):
                return found
        raise PackageNotFoundError(name)

    @property
    def python(self) -> str | None:
        """The interpreter's version, two numbers; None where the folders do not tell."""
        names = [part for site in self.sites for part in site.parts if part.startswith("python3.")]
        return names[-1].removeprefix("python") if names else None


def interpreter(process: Process, maps: str) -> Interpreter:
    """Find the folders from which a process has loaded packages, private environments before those they build on.

    Raises:
        Refused: The process ended, or may not be looked into.
    """
    named = {site for path in mapped_files(maps) if (site := _site_of(path)) is not None}
    sites = [seen_by(process, site) for site in named]
    return Interpreter(tuple(sorted(sites, key=lambda site: (not _is_private(site), str(site)))))


def ask_tokenizer(process: Process, folder: Path) -> Probe:
    """Let the engine's interpreter load a tokenizer with the engine's libraries, and ask it the probe.

    Args:
        process: The engine.
        folder: The tokenizer's folder.

    Raises:
        Refused: The engine is in another container, its interpreter cannot be found, or the tokenizer cannot be loaded.
    """
    if not shares_files(process):
        raise Refused(
            "The engine has no way to be asked for token ids, and its libraries lie in another container; run the "
            "attestor in the engine's own image."
        )
    asked = {"folder": str(folder), "texts": list(PROBE_TEXTS), "chat": list(PROBE_CHAT)}
    answer = _run(_executable(process), environment(process), json.dumps(asked))
    match answer:
        case {"texts": list() as texts, "ids": list() as ids, "chat": chat}:
            sequences = tuple(tuple(cast("Sequence[int]", each)) for each in ids)
            rendered = None if chat is None else tuple(cast("Sequence[int]", chat))
            return Probe(tuple(map(str, texts)), sequences, rendered)
        case _:
            raise Refused("The engine's interpreter answered the probe with something else.")


def _site_of(path: str) -> str | None:
    parts = Path(path).parts
    places = [place for place, part in enumerate(parts) if part in _SITES]
    return str(Path(*parts[: places[-1] + 1])) if places else None


def _is_private(site: Path) -> bool:
    return any((folder / "pyvenv.cfg").exists() for folder in site.parents)


def _executable(process: Process) -> Path:
    """The interpreter by the name it was started under: that name, not the file, says which environment it is in."""
    real = program(process)
    for word in _started_as(process):
        path = seen_by(process, word)
        if path.exists() and path.resolve() == real:
            return path
    raise Refused(f"The engine was not started by the name of its interpreter {str(real)!a}.")


def _started_as(process: Process) -> Iterable[str]:
    first = arguments(process)[0]
    if "/" in first:
        return (first,)
    return [f"{folder}/{first}" for folder in environment(process).get("PATH", "").split(":") if folder]


def _run(executable: Path, environ: Mapping[str, str], asked: str) -> Json:
    try:
        ended = subprocess.run(  # noqa: S603 - the engine's own interpreter, a program of ours
            [str(executable), "-c", _ASK],
            input=asked,
            env={**environ, "HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"},
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Refused(f"The engine's interpreter cannot be asked: {error}.") from error
    if ended.returncode != 0:
        last = ended.stderr.strip().rpartition("\n")[2]
        raise Refused(f"The engine's own libraries cannot load the tokenizer: {last}")
    return parse_json(ended.stdout)
