"""The check of an answer before its first byte goes on (design section 4, rule 2)."""

from __future__ import annotations

from dataclasses import dataclass

from contracts.contract import Contract
from contracts.terms import Enforcement, Verification
from contracts.verdict import Verdict, VerdictKind, judge
from gateway.proxy.answer import AnswerHead
from gateway.routing.snapshot import Instance, Snapshot
from inference_dna import headers as names
from inference_dna.observation import Observation

_STATED = {
    name.encode(): name
    for name in (
        names.DNA, names.DIGEST, names.INPUT_HASH, names.MODEL_ID, names.MODEL_VERSION, names.ASSURANCE, names.FORMAT,
    )
}  # fmt: skip
_IDENTITY_STEPS = frozenset({"ejected", "suspect", "unverified"})


@dataclass(frozen=True, slots=True)
class Checked:
    """An answer's head, judged.

    Attributes:
        observation: What the worker stated.
        verdict: What it means for the contract.
        withheld: Why nothing of the answer may go on; None where it may.
    """

    observation: Observation
    verdict: Verdict
    withheld: str | None


def check_answer(contract: Contract, head: AnswerHead) -> Checked:
    """Judge the head of an answer against the contract its version is pinned to.

    A 5xx says nothing of identity (dna.md section 10, row 3), but one that names another identity is withheld as
    well: no byte of another version goes to a client under any status.
    """
    stated = [(_STATED[name], value.decode("latin-1")) for name, _, value in head.headers if name in _STATED]
    required = contract.verification is Verification.RESPONSE
    observation = Observation.from_headers(head.status, stated, dna_required=required)
    verdict = judge(contract, observation)
    if contract.enforcement is Enforcement.OBSERVE:
        return Checked(observation, verdict, None)
    if verdict.kind is VerdictKind.ABSENT:
        return Checked(observation, verdict, _contradiction(contract, head, stated))
    withheld = None if verdict.kind is VerdictKind.MATCH else verdict.reason
    return Checked(observation, verdict, withheld)


def _contradiction(contract: Contract, head: AnswerHead, stated: list[tuple[str, str]]) -> str | None:
    if head.status < 500 or not stated:
        return None
    as_answer = judge(contract, Observation.from_headers(200, stated, dna_required=False))
    return as_answer.reason if as_answer.kind in (VerdictKind.MISMATCH, VerdictKind.SUSPECT) else None


def lost_trust(instance: Instance, snapshot: Snapshot) -> str | None:
    """Say why an instance lost its identity state since the request was sent; None where it did not.

    An answer that is under way when its instance is ejected is withheld: an ejected instance never answers.
    """
    view = snapshot.version(instance.model_id, instance.version)
    if view is None:
        return None
    newest = next((other for other in view.instances if other.key == instance.key), None)
    if newest is None or newest.refusal is None or newest.refusal.step not in _IDENTITY_STEPS:
        return None
    return str(newest.refusal)
