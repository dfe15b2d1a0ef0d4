"""The check of an answer before its first byte goes on (design section 4, rule 2)."""

from __future__ import annotations

from typing import Final

from contracts.contract import Contract
from contracts.terms import Enforcement, Verification
from contracts.verdict import Verdict, VerdictKind, judge
from gateway.proxy.answer_head import AnswerHead
from gateway.proxy.said import (
    ASSURANCE,
    DIGEST,
    DNA,
    FORMAT,
    INPUT_HASH,
    MODEL_ID,
    MODEL_VERSION,
    UNREAD,
    Said,
    nothing_said,
)
from gateway.routing.snapshot import Instance, Snapshot
from inference_dna.digest import ALGORITHM, HEX_LENGTH
from inference_dna.dna import DNA_LENGTH, RUNTIME_LENGTH, Strands, is_dna
from inference_dna.observation import Observation

_IDENTITY_STEPS = frozenset({"ejected", "suspect", "unverified"})
_SERVER_ERRORS: Final = 500
_MOST_REMEMBERED: Final = 256


class Stated:
    """What an answer states of its worker, as it stood there; a name sent twice has its values joined with `, `."""

    __slots__ = ("assurance", "digest", "dna", "format", "input_hash", "model_id", "version")

    def __init__(
        self,
        dna: str | None = None,
        digest: str | None = None,
        input_hash: str | None = None,
        model_id: str | None = None,
        version: str | None = None,
        assurance: str | None = None,
        format: str | None = None,
    ) -> None:
        self.dna = dna
        self.digest = digest
        self.input_hash = input_hash
        self.model_id = model_id
        self.version = version
        self.assurance = assurance
        self.format = format

    @property
    def is_silent(self) -> bool:
        """Nothing is stated at all."""
        values = (self.dna, self.digest, self.input_hash, self.model_id, self.version, self.assurance, self.format)
        return not any(values)

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


class Match:
    """What an answer that matched stated, but for what names its input: another that states the same matches too.

    Attributes:
        stated: All that the first such answer stated.
        verdict: What it means.
    """

    __slots__ = (
        "_assurance", "_digest", "_format", "_model_id", "_runtime", "_strands", "_version", "stated", "verdict",
    )  # fmt: skip

    def __init__(self, said: Said, stated: Stated, verdict: Verdict) -> None:
        dna = said[DNA]
        self._digest = said[DIGEST]
        self._runtime = dna[:RUNTIME_LENGTH] if dna is not None else None
        self._strands = Strands(stated.digest[len(ALGORITHM) :]) if stated.digest is not None else None
        self._model_id, self._version = said[MODEL_ID], said[MODEL_VERSION]
        self._assurance, self._format = said[ASSURANCE], said[FORMAT]
        self.stated = stated
        self.verdict = verdict

    def read(self, said: Said) -> Stated | None:
        """Give what an answer of the same runtime states if it is no news; else None."""
        dna, input_hash, first = said[DNA], said[INPUT_HASH], self.stated
        if said[MODEL_ID] != self._model_id or said[MODEL_VERSION] != self._version:
            return None
        if said[ASSURANCE] != self._assurance or said[FORMAT] != self._format:
            return None
        if said[DIGEST] != self._digest or not self._has_dna(dna, input_hash):
            return None
        return Stated(
            _text(dna), first.digest, _text(input_hash), first.model_id, first.version, first.assurance, first.format
        )

    def _has_dna(self, dna: bytes | None, input_hash: bytes | None) -> bool:
        """Say whether a DNA is of this runtime and, as far as that can be recomputed, of this input."""
        if dna is None:
            return self._runtime is None
        if len(dna) != DNA_LENGTH or dna[:RUNTIME_LENGTH] != self._runtime:
            return False
        if self._strands is not None and input_hash is not None and len(input_hash) == HEX_LENGTH:
            return self._strands.of(input_hash) == dna[RUNTIME_LENGTH:]
        return is_dna(dna.decode("latin-1"))


class Checked:
    """An answer's head, judged.

    Attributes:
        stated: What the worker stated.
        observation: The same with its status; None where the answer is no news.
        verdict: What it means for the contract.
        withheld: Why nothing of the answer may go on; None where it may.
        match: What it matched, where it is no news or the first of its kind.
    """

    __slots__ = ("match", "observation", "stated", "verdict", "withheld")

    def __init__(
        self,
        stated: Stated,
        observation: Observation | None,
        verdict: Verdict,
        withheld: str | None = None,
        match: Match | None = None,
    ) -> None:
        self.stated = stated
        self.observation = observation
        self.verdict = verdict
        self.withheld = withheld
        self.match = match


class AnswerJudge:
    """Judges the answers to one contract.

    A worker states the same on every answer, but for the second half of the DNA and the input hash, which name the
    input. So a match is remembered by all else; what names the input is checked each time.
    """

    def __init__(self, contract: Contract) -> None:
        self.contract = contract
        self._requires_dna = contract.verification is Verification.RESPONSE
        self._observes = contract.enforcement is Enforcement.OBSERVE
        self._matches: dict[bytes | None, Match] = {}
        """By what names the runtime, see `_named`."""

    def check(self, head: AnswerHead) -> Checked:
        """Judge one head.

        A 5xx says nothing of identity (dna.md section 10, row 3), but one that names another identity is withheld as
        well: no byte of another version goes to a client under any status.
        """
        if head.status < _SERVER_ERRORS and not head.repeats_names:
            match = self._matches.get(_named(head.said))
            if match is not None:
                known = match.read(head.said)
                if known is not None:
                    return Checked(known, None, match.verdict, match=match)
        return self._judge(head)

    def _judge(self, head: AnswerHead) -> Checked:
        stated = _stated(head)
        seen = stated.observed(head.status, dna_required=self._requires_dna)
        verdict = judge(self.contract, seen)
        if verdict.kind is VerdictKind.MATCH:
            return Checked(stated, seen, verdict, match=self._remember(head, stated, verdict))
        if self._observes:
            return Checked(stated, seen, verdict)
        if verdict.kind is VerdictKind.ABSENT:
            return Checked(stated, seen, verdict, self._contradiction(head.status, stated))
        return Checked(stated, seen, verdict, verdict.reason)

    def _remember(self, head: AnswerHead, stated: Stated, verdict: Verdict) -> Match | None:
        """Remember a match that leaves nothing to remark and names nothing twice."""
        if verdict.notes or head.repeats_names:
            return None
        if len(self._matches) >= _MOST_REMEMBERED:
            self._matches.clear()
        match = self._matches[_named(head.said)] = Match(head.said, stated, verdict)
        return match

    def _contradiction(self, status: int, stated: Stated) -> str | None:
        """Say what a 5xx states that another identity would: it says nothing of the instance, and goes to nobody."""
        if status < _SERVER_ERRORS or stated.is_silent:
            return None
        verdict = judge(self.contract, stated.observed(200, dna_required=False))
        return verdict.reason if verdict.kind in (VerdictKind.MISMATCH, VerdictKind.SUSPECT) else None


def _named(said: Said) -> bytes | None:
    """Give what names the runtime: the digest, else the beginning of the DNA."""
    digest = said[DIGEST]
    if digest is not None:
        return digest
    dna = said[DNA]
    return dna[:RUNTIME_LENGTH] if dna is not None else None


def _stated(head: AnswerHead) -> Stated:
    """Read what a head states; one that states identity twice is malformed, never absent, so values are joined."""
    said = _joined(head) if head.repeats_names else head.said
    return Stated(
        dna=_text(said[DNA]),
        digest=_text(said[DIGEST]),
        input_hash=_text(said[INPUT_HASH]),
        model_id=_text(said[MODEL_ID]),
        version=_text(said[MODEL_VERSION]),
        assurance=_text(said[ASSURANCE]),
        format=_text(said[FORMAT]),
    )


def _joined(head: AnswerHead) -> Said:
    said = nothing_said()
    for line in head.lines:
        if line.place != UNREAD:
            before = said[line.place]
            said[line.place] = line.value if before is None else b"%b, %b" % (before, line.value)
    return said


def _text(value: bytes | None) -> str | None:
    return value.decode("latin-1") if value is not None else None


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
