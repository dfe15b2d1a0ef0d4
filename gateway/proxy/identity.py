"""The check of an answer before its first byte goes on (design section 4, rule 2)."""

from __future__ import annotations

from typing import NamedTuple

from contracts.contract import Contract
from contracts.terms import Enforcement, Verification
from contracts.verdict import Verdict, VerdictKind, judge
from gateway.proxy.answer import AnswerHead
from gateway.routing.snapshot import Instance, Snapshot
from inference_dna import headers as names
from inference_dna.canonical import Refused
from inference_dna.digest import ALGORITHM, HEX_LENGTH
from inference_dna.dna import RUNTIME_LENGTH, strand
from inference_dna.observation import Observation

_NAMES = tuple(
    name.encode()
    for name in (
        names.DNA, names.DIGEST, names.INPUT_HASH, names.MODEL_ID, names.MODEL_VERSION, names.ASSURANCE, names.FORMAT,
    )
)  # fmt: skip
"""In the order of `Stated`."""
_IDENTITY_STEPS = frozenset({"ejected", "suspect", "unverified"})
_SERVER_ERRORS = 500
_MOST_REMEMBERED = 256


Runtime = tuple[str | None, str | None]
"""The half of the DNA that names the runtime, and the digest."""


class Stated(NamedTuple):
    """What an answer states of its worker, as it stood there; a name sent twice has its values joined with `, `."""

    dna: str | None = None
    digest: str | None = None
    input_hash: str | None = None
    model_id: str | None = None
    version: str | None = None
    assurance: str | None = None
    format: str | None = None

    @property
    def runtime(self) -> Runtime:
        """What names the worker, whatever the input."""
        return (self.dna[:RUNTIME_LENGTH] if self.dna is not None else None, self.digest)

    def observed(self, http: int, *, dna_required: bool) -> Observation:
        """Make an observation of it."""
        return Observation(
            http,
            format=self.format,
            dna=self.dna,
            digest=self.digest,
            input_hash=self.input_hash,
            model_id=self.model_id,
            version=self.version,
            assurance=self.assurance,
            dna_required=dna_required,
        )


class Checked(NamedTuple):
    """An answer's head, judged.

    Attributes:
        stated: What the worker stated.
        observation: The same with its status; None where `is_known` says that it is nothing new.
        verdict: What it means for the contract.
        withheld: Why nothing of the answer may go on; None where it may.
        is_known: An earlier answer stated the same and matched.
    """

    stated: Stated
    observation: Observation | None
    verdict: Verdict
    withheld: str | None
    is_known: bool = False


class AnswerJudge:
    """Judges the answers to one contract.

    A worker states the same on every answer, but for the second half of the DNA and the input hash, which name the
    input. So a match is remembered by all else; what names the input is checked each time.
    """

    def __init__(self, contract: Contract) -> None:
        self.contract = contract
        self._requires_dna = contract.verification is Verification.RESPONSE
        self._observes = contract.enforcement is Enforcement.OBSERVE
        self._matches: dict[tuple[str | None, ...], Verdict] = {}

    def check(self, head: AnswerHead) -> Checked:
        """Judge one head.

        A 5xx says nothing of identity (dna.md section 10, row 3), but one that names another identity is withheld as
        well: no byte of another version goes to a client under any status.
        """
        stated = _stated(head)
        key = _but_for_the_input(stated)
        known = self._matches.get(key) if head.status < _SERVER_ERRORS else None
        if known is not None and _strand_follows(stated):
            return Checked(stated, None, known, None, is_known=True)
        seen = stated.observed(head.status, dna_required=self._requires_dna)
        verdict = judge(self.contract, seen)
        if verdict.kind is VerdictKind.MATCH:
            if not verdict.notes:
                self._remember(key, verdict)
            return Checked(stated, seen, verdict, None)
        if self._observes:
            return Checked(stated, seen, verdict, None)
        if verdict.kind is VerdictKind.ABSENT:
            return Checked(stated, seen, verdict, self._contradiction(head.status, stated))
        return Checked(stated, seen, verdict, verdict.reason)

    def _remember(self, key: tuple[str | None, ...], verdict: Verdict) -> None:
        if len(self._matches) >= _MOST_REMEMBERED:
            self._matches.clear()
        self._matches[key] = verdict

    def _contradiction(self, status: int, stated: Stated) -> str | None:
        """Say what a 5xx states that another identity would: it says nothing of the instance, and goes to nobody."""
        if status < _SERVER_ERRORS or not any(stated):
            return None
        verdict = judge(self.contract, stated.observed(200, dna_required=False))
        return verdict.reason if verdict.kind in (VerdictKind.MISMATCH, VerdictKind.SUSPECT) else None


def _stated(head: AnswerHead) -> Stated:
    if head.repeats_names:
        return _joined(head)
    said = head.said.get
    return Stated(*[value.decode("latin-1") if (value := said(name)) is not None else None for name in _NAMES])


def _joined(head: AnswerHead) -> Stated:
    """Read a head in which a name is repeated: one that states identity twice is malformed, never absent."""
    values = {name: [value for lower, _, value in head.headers if lower == name] for name in _NAMES}
    return Stated(*[b", ".join(sent).decode("latin-1") if sent else None for sent in values.values()])


def _but_for_the_input(seen: Stated) -> tuple[str | None, ...]:
    dna = seen.dna
    runtime = dna if dna is None or len(dna) != 2 * RUNTIME_LENGTH else dna[:RUNTIME_LENGTH]
    return (runtime, seen.digest, seen.model_id, seen.version, seen.assurance, seen.format)


def _strand_follows(seen: Stated) -> bool:
    """Say whether the second half of the DNA is that of the input hash, as far as it can be recomputed."""
    digest, dna, input_hash = seen.digest, seen.dna, seen.input_hash
    if digest is None or dna is None or input_hash is None or len(input_hash) != HEX_LENGTH:
        return dna is None or not dna[RUNTIME_LENGTH:].strip("0123456789abcdef")
    try:
        return strand(digest[len(ALGORITHM) :], input_hash) == dna[RUNTIME_LENGTH:]
    except Refused:
        return False


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
