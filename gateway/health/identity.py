"""Identity of one instance: which observations admit it, which take it out (design, sections 3 and 4).

The rules of this file:
- One mismatch ejects, whatever came before. Only a match admits; time, being up and near misses never do.
- A match counts only if its observation began after the last doubt was seen: a probe that was on its way while an
  answer was refused describes a process that may be gone.
- No answer says nothing of identity.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from contracts.verdict import Verdict, VerdictKind
from inference_dna.dna import RUNTIME_LENGTH
from inference_dna.observation import Observation


class Identity(StrEnum):
    """What the gateway holds of an instance's identity. Only `verified` may answer."""

    UNVERIFIED = "unverified"
    VERIFIED = "verified"
    SUSPECT = "suspect"
    EJECTED = "ejected"


@dataclass(frozen=True, slots=True)
class IdentityState:
    """What is known of one instance's identity, and why.

    `dna`, `digest` and `assurance` are what it last stated, also where that is what it was ejected for.
    """

    identity: Identity
    reason: str
    strikes: int = 0
    """Suspect observations in a row."""
    since: float = 0.0
    """Monotonic second at which `identity` last changed."""
    dna: str | None = None
    digest: str | None = None
    assurance: str | None = None
    doubted_at: float = float("-inf")
    """Monotonic second at which the last observation that was no match was seen."""
    relapses: int = 0
    """How often an answer contradicted what a probe of the same process had confirmed."""
    matches: int = 0
    """Matching probes in a row since the last ejection by an answer."""
    boot_id: str | None = None
    """Start of the process whose probe was last taken in."""


_MOST_DOUBLINGS = 6
NEW = IdentityState(Identity.UNVERIFIED, "not probed yet")


def observe(
    state: IdentityState, verdict: Verdict, observation: Observation, *, strikes: int, started_at: float, now: float
) -> IdentityState:
    """Take in one observation with its verdict (dna.md section 10).

    Args:
        state: What was known before.
        verdict: What the observation means for this instance's contract.
        observation: What the instance stated.
        strikes: Suspect observations in a row after which the instance is ejected.
        started_at: Monotonic second at which the probe or request was sent.
        now: Monotonic second at which the answer was seen.

    Returns:
        The new state; the very same object where nothing changed.
    """
    if verdict.kind is VerdictKind.ABSENT:
        return state
    if verdict.kind is VerdictKind.MATCH:
        return _matched(state, verdict, observation, started_at=started_at, now=now)
    if verdict.kind is VerdictKind.INCOMPARABLE:
        return _incomparable(state, verdict, observation, started_at=started_at, now=now)
    if verdict.kind is VerdictKind.SUSPECT:
        return _suspected(state, verdict, observation, strikes=strikes, now=now)
    # Whatever is left takes an instance out: a kind of verdict that this file does not know fails closed.
    return _doubted(state, Identity.EJECTED, _words(verdict), observation, now=now)


def _matched(
    state: IdentityState, verdict: Verdict, observation: Observation, *, started_at: float, now: float
) -> IdentityState:
    if started_at < state.doubted_at or _says_nothing_new(state, observation):
        return state
    same_process = observation.boot_id is None or observation.boot_id == state.boot_id
    relapses = state.relapses if same_process else 0
    if state.identity is Identity.EJECTED and state.matches + 1 < matches_needed(relapses):
        return replace(state, matches=state.matches + 1)
    verified = IdentityState(
        Identity.VERIFIED,
        _words(verdict),
        since=state.since if state.identity is Identity.VERIFIED else now,
        dna=observation.dna,
        digest=observation.digest,
        assurance=verdict.assurance,
        doubted_at=state.doubted_at,
        relapses=relapses,
        boot_id=observation.boot_id or state.boot_id,
    )
    return state if verified == state else verified


def matches_needed(relapses: int) -> int:
    """Say how many matching probes in a row bring an ejected instance back.

    One, the first two times. A process whose probes match and whose answers do not would come back with every probe
    and cost a request each time; so each further relapse doubles what it takes. Another process (`boot_id`) begins
    anew.
    """
    return int(2 ** min(max(relapses - 2, 0), _MOST_DOUBLINGS))


def _says_nothing_new(state: IdentityState, observation: Observation) -> bool:
    """Say whether an answer only confirms what a probe told in full.

    Answers may state less than probes, and the second half of their DNA names their input: taking them over would
    change the state with every request.
    """
    if state.identity is not Identity.VERIFIED or observation.status is not None:
        return False
    if state.digest and observation.digest and state.digest != observation.digest:
        return False
    return not (state.dna and observation.dna and state.dna[:RUNTIME_LENGTH] != observation.dna[:RUNTIME_LENGTH])


def _incomparable(
    state: IdentityState, verdict: Verdict, observation: Observation, *, started_at: float, now: float
) -> IdentityState:
    # A late "not ready" of the time before the ejection would hide that something had drifted.
    if state.identity is Identity.EJECTED and started_at < state.doubted_at:
        return state
    return _doubted(state, Identity.UNVERIFIED, _words(verdict), observation, now=now)


def _suspected(
    state: IdentityState, verdict: Verdict, observation: Observation, *, strikes: int, now: float
) -> IdentityState:
    count = state.strikes + 1
    if state.identity is Identity.EJECTED or count >= strikes:
        reason, identity = f"{_words(verdict)}, {count} in a row", Identity.EJECTED
    else:
        reason, identity = f"{_words(verdict)}, strike {count} of {strikes}", Identity.SUSPECT
    return replace(_doubted(state, identity, reason, observation, now=now), strikes=count)


def _doubted(
    state: IdentityState, identity: Identity, reason: str, observation: Observation, *, now: float
) -> IdentityState:
    return IdentityState(
        identity,
        reason,
        since=state.since if state.identity is identity else now,
        dna=observation.dna,
        digest=observation.digest,
        assurance=observation.assurance,
        doubted_at=now,
        relapses=state.relapses + _is_relapse(state, identity, observation),
        boot_id=observation.boot_id or state.boot_id,
    )


def _is_relapse(state: IdentityState, identity: Identity, observation: Observation) -> bool:
    is_answer = observation.status is None
    return is_answer and identity is Identity.EJECTED and state.identity is Identity.VERIFIED


def _words(verdict: Verdict) -> str:
    """Turn a reason such as `digest_differs` into the words people read."""
    return verdict.reason.replace("_", " ")
