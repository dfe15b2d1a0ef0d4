"""The verdict of one observation against a contract (dna.md section 10; the numbers are the rows of its table).

Runs before the first byte of every answer goes on: constants and bounded caches instead of new objects where it can.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from operator import ne

from contracts.contract import Contract
from contracts.hardware import unmet, unstated
from inference_dna.assurance import Assurance
from inference_dna.digest import ALGORITHM, HEX_LENGTH, hashed, is_hex
from inference_dna.dna import RUNTIME_LENGTH, is_dna
from inference_dna.headers import FORMAT_NAME
from inference_dna.observation import Observation


class VerdictKind(StrEnum):
    """What an observation means for an instance's identity."""

    ABSENT = "absent"
    """Nothing was learned about identity; liveness may care."""
    INCOMPARABLE = "incomparable"
    """No traffic, but no drift either."""
    MISMATCH = "mismatch"
    """Ejected at once."""
    MATCH = "match"
    SUSPECT = "suspect"
    """Out of rotation until it is clear which."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A verdict with its reason, one of the words of the table."""

    kind: VerdictKind
    reason: str
    assurance: str | None = None
    """How far a match reaches (dna.md section 9)."""
    distance: int | None = None
    """Differing places among the first 8 characters, to the nearest accepted DNA; None where nothing was compared."""
    notes: tuple[str, ...] = ()
    """What else was noticed; on `hardware_differs`, the requirements that are unmet."""


def judge(contract: Contract, seen: Observation) -> Verdict:
    """Judge one observation; the first row that fits decides.

    Args:
        contract: Of the version the instance should be serving.
        seen: One answer or probe of the instance. What it states badly is never taken for absent.
    """
    if seen.http is None:
        return _NO_ANSWER  # 1
    if seen.status is not None and seen.status != "ok":
        return _NOT_READY  # 2
    if seen.http >= _SERVER_ERRORS:
        return _SERVER_ERROR  # 3
    accepted, digest = contract.accepted, seen.digest
    # A digest that the contract lists is well formed; only others are looked at.
    listed = digest in accepted.first8_of
    unfit = _unreadable(seen, is_listed=listed) or _misnamed(contract, seen)
    if unfit is not None:
        return unfit  # 4 to 6
    if not contract.dna:
        return _NOTHING_ACCEPTED  # 7
    distance = _distance(accepted.labels, seen.dna)
    if digest is not None and listed:
        notes = _digest_notes(seen, accepted.first8_of[digest])
        return _matched(contract, seen, _match("digest_equal", _stated(seen), distance, notes))  # 8
    if digest is not None and accepted.first8_of:
        return _outcome(VerdictKind.MISMATCH, "digest_differs", distance)  # 9
    return _judge_label(contract, seen, distance)  # 10 to 13


def _judge_label(contract: Contract, seen: Observation, distance: int | None) -> Verdict:
    if seen.dna is None:
        return _NOTHING_STATED
    if distance is None:
        # Only digests are accepted, and the worker sends none: there is nothing that could differ.
        return _NOTHING_ACCEPTED
    if distance == 0:
        notes = _STRAND_DIFFERS if _has_other_strand(seen) else ()
        return _matched(contract, seen, _match("label_equal", Assurance.LABEL, distance, notes))
    if distance > contract.max_dna_distance:
        return _outcome(VerdictKind.MISMATCH, "label_far", distance)
    return _outcome(VerdictKind.SUSPECT, "label_near", distance)


def _unreadable(seen: Observation, *, is_listed: bool) -> Verdict | None:
    if seen.format is not None and seen.format != FORMAT_NAME:
        return _FORMAT_UNKNOWN
    if seen.digest is not None and not is_listed and (fault := _digest_fault(seen.digest)):
        return fault
    if seen.dna is None:
        return _DNA_MISSING if seen.dna_required else None
    return None if is_dna(seen.dna) else _DNA_MALFORMED


def _digest_fault(digest: str) -> Verdict | None:
    if digest.startswith(ALGORITHM) and is_hex(digest[len(ALGORITHM) :], HEX_LENGTH):
        return None
    named = _NAMED_DIGEST.fullmatch(digest)
    return _FORMAT_UNKNOWN if named and named[1] != "sha256" else _DIGEST_MALFORMED


def _misnamed(contract: Contract, seen: Observation) -> Verdict | None:
    if seen.model_id is not None and seen.model_id != contract.model_id:
        return _OTHER_MODEL
    if seen.version is not None and seen.version not in contract.version_texts:
        return _OTHER_VERSION
    return None


def _distance(labels: frozenset[str], dna: str | None) -> int | None:
    if dna is None or not labels:
        return None
    first8 = dna[:RUNTIME_LENGTH]
    return 0 if first8 in labels else min(sum(map(ne, first8, label)) for label in labels)


def _digest_notes(seen: Observation, first8: str | None) -> tuple[str, ...]:
    """Find out whether a worker whose digest is right stamps wrongly beside it."""
    if seen.dna is None:
        return ()
    notes = () if first8 is None or seen.dna.startswith(first8) else ("label_disagrees",)
    return (*notes, *_STRAND_DIFFERS) if _has_other_strand(seen) else notes


def _has_other_strand(seen: Observation) -> bool:
    # From 12 hex, as people are shown them, nothing can be recomputed, nor without a digest.
    if seen.digest is None or seen.dna is None or seen.input_hash is None:
        return False
    if len(seen.input_hash) != HEX_LENGTH or not seen.input_hash.isascii():
        return False
    # `inference_dna.dna.strand` reads both texts first, which takes longer than the hash; here only a strand that
    # differs is worth that look.
    recomputed = hashed("request", f"{seen.digest[len(ALGORITHM) :]}\n{seen.input_hash}")[:RUNTIME_LENGTH]
    return recomputed != seen.dna[RUNTIME_LENGTH:] and is_hex(seen.input_hash, HEX_LENGTH)


def _stated(seen: Observation) -> str:
    """The worker's level; a word that is no level is worth no more than none (dna.md section 6)."""
    return seen.assurance if seen.assurance in _RANKS and seen.assurance is not None else Assurance.DECLARED


def _matched(contract: Contract, seen: Observation, match: Verdict) -> Verdict:
    """A match stands only if it reaches far enough, on a machine that the contract allows."""
    minimum = contract.min_assurance
    if minimum is not Assurance.DECLARED and _RANKS[match.assurance] < minimum.rank:
        return replace(match, kind=VerdictKind.INCOMPARABLE, reason="assurance_low")  # 14
    if seen.hardware is None and seen.status is None:
        return match
    requirements = contract.promise.hardware_requirements
    if failing := unmet(requirements, seen.hardware):
        return Verdict(VerdictKind.MISMATCH, "hardware_differs", None, match.distance, failing)
    if seen.status is not None and unstated(requirements, seen.hardware):
        return replace(match, notes=(*match.notes, "hardware_unstated"))
    return match


@lru_cache(maxsize=1024)
def _match(reason: str, assurance: str, distance: int | None, notes: tuple[str, ...]) -> Verdict:
    return Verdict(VerdictKind.MATCH, reason, assurance, distance, notes)


@lru_cache(maxsize=256)
def _outcome(kind: VerdictKind, reason: str, distance: int | None = None) -> Verdict:
    return Verdict(kind, reason, None, distance)


_SERVER_ERRORS = 500
_NAMED_DIGEST = re.compile(r"([a-z0-9-]+):[0-9a-f]+")
_STRAND_DIFFERS = ("strand_differs",)
_RANKS: dict[str | None, int] = {level.value: level.rank for level in Assurance}

_NO_ANSWER = Verdict(VerdictKind.ABSENT, "no_answer")
_SERVER_ERROR = Verdict(VerdictKind.ABSENT, "server_error")
_NOTHING_STATED = Verdict(VerdictKind.ABSENT, "nothing_stated")
_NOT_READY = Verdict(VerdictKind.INCOMPARABLE, "not_ready")
_FORMAT_UNKNOWN = Verdict(VerdictKind.INCOMPARABLE, "format_unknown")
_NOTHING_ACCEPTED = Verdict(VerdictKind.INCOMPARABLE, "nothing_accepted")
_DIGEST_MALFORMED = Verdict(VerdictKind.MISMATCH, "digest_malformed")
_DNA_MALFORMED = Verdict(VerdictKind.MISMATCH, "dna_malformed")
_DNA_MISSING = Verdict(VerdictKind.MISMATCH, "dna_missing")
_OTHER_MODEL = Verdict(VerdictKind.MISMATCH, "other_model")
_OTHER_VERSION = Verdict(VerdictKind.MISMATCH, "other_version")
