"""Reads `worker.json`: what a bundle says of its settings, sealed with its weights. A bundle without one says nothing.

    {"defaults": {"repetition_penalty": 1.1}, "max_new_tokens": 128, "most_new_tokens": 512, "allowed": ["temperature"]}

`defaults` are those of transformers' `generate`. The file is one of the bundle's weight files, so its digest counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from inference_dna.canonical import Json, Refused, parse_json
from worker.bundle import BundleRefused
from worker.generation import NAMES, Allowed

FILE = "worker.json"
_MEMBERS = frozenset({"defaults", "max_new_tokens", "most_new_tokens", "allowed"})
_DEFAULTS = frozenset({"do_sample", "temperature", "top_p", "top_k", "repetition_penalty"})


@dataclass(frozen=True, slots=True)
class Sealed:
    """What stands in the file. `seed` is set in deterministic mode: chance is then the same for everybody."""

    defaults: Mapping[str, Json] = field(default_factory=lambda: MappingProxyType({}))
    max_new_tokens: int = 256
    allowed: Allowed = field(default_factory=Allowed)
    seed: int | None = None


def read_sealed(folder: Path, *, seed: int | None = None) -> Sealed:
    """Read a bundle's file; the values of `Sealed` where there is none.

    Raises:
        BundleRefused: The file cannot be read, or has a member that is unknown or of a wrong type.
    """
    try:
        return _parsed(parse_json((folder / FILE).read_bytes()), seed)
    except FileNotFoundError:
        return Sealed(seed=seed)
    except (OSError, Refused) as error:
        raise BundleRefused(f"The file {FILE} of {folder.name} cannot be used. {error}") from error


def _parsed(document: Json, seed: int | None) -> Sealed:
    if not isinstance(document, Mapping) or document.keys() - _MEMBERS:
        raise Refused(f"It has the members {', '.join(sorted(_MEMBERS))}, and no other.")
    defaults = document.get("defaults", {})
    if not isinstance(defaults, Mapping) or defaults.keys() - _DEFAULTS:
        raise Refused(f"`defaults` may state {', '.join(sorted(_DEFAULTS))}, and no other.")
    names = document.get("allowed", sorted(NAMES))
    if not isinstance(names, list) or not set(map(str, names)) <= set(NAMES):
        raise Refused(f"`allowed` is a list of {', '.join(NAMES)}.")
    allowed = Allowed(frozenset(map(str, names)), _count(document, "most_new_tokens", Allowed().most_new_tokens))
    return Sealed(MappingProxyType(dict(defaults)), _count(document, "max_new_tokens", 256), allowed, seed)


def _count(document: Mapping[str, Json], name: str, otherwise: int) -> int:
    value = document.get(name, otherwise)
    if type(value) is not int or value < 1:
        raise Refused(f"`{name}` must be an integer above 0.")
    return value
