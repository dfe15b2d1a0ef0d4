"""Which running workers may be written into a contract, and as what. Pure: what they stated in, entries out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from contracts.contract import Contract
from gateway.control.standing import gpu_name
from gateway.edits.text import quoted_text
from inference_dna.canonical import Json, Refused
from inference_dna.digest import parse_digest
from inference_dna.dna import RUNTIME_LENGTH, parse_dna, strand
from inference_dna.observation import Observation

FINGERPRINTS = ("model_fingerprint", "tokenizer_fingerprint", "postprocess_fingerprint")


@dataclass(frozen=True, slots=True)
class Stated:
    """What one instance said at `/healthz`; `failure` says why nothing usable came."""

    instance: str
    observation: Observation
    body: Mapping[str, Json]
    failure: str = ""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One instance, and what it would be enrolled as.

    Attributes:
        stated: What it said.
        refusal: Why it cannot be enrolled; empty where it can.
        is_known: The contract accepts it already.
    """

    stated: Stated
    refusal: str
    is_known: bool

    @property
    def is_new(self) -> bool:
        """It can be enrolled and is not yet."""
        return not self.refusal and not self.is_known


def candidates(contract: Contract, stated: Iterable[Stated]) -> tuple[Candidate, ...]:
    """Say of each instance whether it can be enrolled."""
    known = {entry.digest or (entry.dna or "")[:RUNTIME_LENGTH] for entry in contract.dna}
    return tuple(_candidate(contract, one, known) for one in stated)


def _candidate(contract: Contract, one: Stated, known: set[str]) -> Candidate:
    seen = one.observation
    refusal = one.failure or _refusal(contract, seen)
    mark = seen.digest or (seen.dna or "")[:RUNTIME_LENGTH]
    return Candidate(one, refusal, is_known=not refusal and mark in known)


def _refusal(contract: Contract, seen: Observation) -> str:
    """Enrolling makes a worker the truth: what names another model, or is not ready, must not become it."""
    if seen.status != "ok":
        return f"its status is {seen.status!r}, not ok"
    if seen.model_id not in (None, contract.model_id):
        return f"it is of the model {seen.model_id}"
    if seen.version is not None and seen.version not in contract.version_texts:
        return f"it is of the version {seen.version}"
    try:
        dna = parse_dna(seen.dna or "")
        if seen.digest is not None and dna[RUNTIME_LENGTH:] != strand(parse_digest(seen.digest), ""):
            return "its DNA and its digest do not belong together"
    except Refused as refused:
        return str(refused)
    return ""


def entries(chosen: Sequence[Candidate]) -> list[dict[str, Any]]:
    """Write what is chosen as entries of `dna`, each runtime once."""
    made: dict[str, dict[str, Any]] = {}
    for one in chosen:
        seen = one.stated.observation
        entry = {"dna": quoted_text(seen.dna or "")}
        if seen.digest is not None:
            entry["digest"] = quoted_text(seen.digest)
        label = _label(one.stated)
        if label:
            entry["label"] = quoted_text(label)
        made.setdefault(seen.digest or seen.dna or "", entry)
    return list(made.values())


def _label(stated: Stated) -> str:
    """Name the stack for people: its accelerator, else its machine's architecture."""
    hardware = stated.observation.hardware
    named = gpu_name(hardware) or (hardware or {}).get("machine")
    return str(named)[:200] if named else ""
