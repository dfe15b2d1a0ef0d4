"""What becomes of an instance's identity when another gateway tells what it saw.

The rules of this file:
- What is told is judged by our own contract. A doubt takes the instance out here too.
- "Only a match that began after the last doubt admits" holds without comparing clocks of two machines: a doubt is taken
  back only by the gateway that had it, whose own rules put its match after it, or by a probe of ours that began after
  we heard of it. So what we doubt ourselves nobody else admits; and where a doubter left, we look ourselves.
- Good news of one that was never doubted counts as a probe. Liveness is never hearsay.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from contracts.contract import Contract
from contracts.verdict import Verdict, VerdictKind, judge
from gateway.health import identity as identities
from gateway.health.identity import Identity, IdentityState
from gateway.health.liveness import DownBy, Liveness, LivenessState
from gateway.sharing.names import gateway_of
from gateway.sharing.sighting import Sighting

GRACE_S = 3.0
"""How long, and as long again by chance, a new instance that falls to others waits for their word."""
TAKE_UP_S = 2.0
"""Over how long the first probes of instances that newly fall to us are spread."""


@dataclass(frozen=True, slots=True)
class Hearsay:
    """Who keeps an instance out.

    Attributes:
        here: This gateway saw itself that something is amiss, and has not seen since that it is well.
        doubters: The other gateways whose doubt stands.
    """

    here: bool = False
    doubters: frozenset[str] = frozenset()


NO_DOUBT = Hearsay()
_HERE = Hearsay(here=True)


def saw(hearsay: Hearsay, verdict: Verdict, after: Identity) -> Hearsay:
    """Take in that we saw the instance ourselves; `after` is what we hold of it since."""
    if after is Identity.VERIFIED:
        return NO_DOUBT
    if verdict.kind in {VerdictKind.ABSENT, VerdictKind.MATCH} or hearsay.here:
        return hearsay
    return replace(hearsay, here=True) if hearsay.doubters else _HERE


def hear(
    hearsay: Hearsay, identity: IdentityState, contract: Contract, told: Sighting, *, by: str, now: float
) -> tuple[Hearsay, IdentityState]:
    """Take in what another gateway tells of an instance.

    Args:
        hearsay: Who kept it out before.
        identity: What was known of it before.
        contract: The contract it is held to here.
        told: What the other one saw.
        by: Name of the other one.
        now: Our monotonic second.

    Returns:
        Both anew; the very same objects where nothing changed.
    """
    verdict = judge(contract, told.observation)
    if verdict.kind is VerdictKind.ABSENT:
        return hearsay, identity
    if verdict.kind is VerdictKind.MATCH:
        return _hear_match(hearsay, identity, contract, told, verdict, by=by, now=now)
    return _hear_doubt(hearsay, identity, contract, told, verdict, by=by, now=now)


def _hear_match(
    hearsay: Hearsay,
    identity: IdentityState,
    contract: Contract,
    told: Sighting,
    verdict: Verdict,
    *,
    by: str,
    now: float,
) -> tuple[Hearsay, IdentityState]:
    if told.doubts or not _is_proof(contract, told):
        return hearsay, identity
    was_doubter = by in hearsay.doubters
    rest = withdraw(hearsay, by)
    is_open = was_doubter or identity == identities.NEW
    if rest.here or rest.doubters or not is_open:
        return rest, identity
    # How often it has to match after relapses, the other one has counted already.
    fresh = replace(identity, relapses=0, matches=0)
    return rest, identities.observe(fresh, verdict, told.observation, strikes=contract.strikes, started_at=now, now=now)


def _hear_doubt(
    hearsay: Hearsay,
    identity: IdentityState,
    contract: Contract,
    told: Sighting,
    verdict: Verdict,
    *,
    by: str,
    now: float,
) -> tuple[Hearsay, IdentityState]:
    strikes = 1 if told.identity is Identity.EJECTED else contract.strikes
    doubted = identities.observe(identity, verdict, told.observation, strikes=strikes, started_at=now, now=now)
    reason = f"{doubted.reason}, seen by gateway {gateway_of(by)}"
    return (
        replace(hearsay, doubters=hearsay.doubters | {by}),
        replace(doubted, reason=reason, relapses=identity.relapses),
    )


def _is_proof(contract: Contract, told: Sighting) -> bool:
    """A probe of ours would have shown the machine; without it nobody knows whether it is an allowed one."""
    return told.hardware is not None or contract.promise.hardware_requirements.is_empty


def withdraw(hearsay: Hearsay, by: str) -> Hearsay:
    """Take in that a gateway left, or does not tell its doubt any more."""
    return replace(hearsay, doubters=hearsay.doubters - {by}) if by in hearsay.doubters else hearsay


def needs_a_look(hearsay: Hearsay, identity: IdentityState, liveness: LivenessState) -> bool:
    """Say whether we probe an instance although it falls to others.

    We do where we have seen ourselves that something is amiss, where nobody vouches for it and nobody doubts it, and
    where requests of ours failed: whether our way to it is open nobody else can tell.
    """
    if hearsay.here or (liveness.liveness is Liveness.DOWN and liveness.down_by is not DownBy.NEW):
        return True
    return identity.identity is not Identity.VERIFIED and not hearsay.doubters


def alive_by_hearsay(liveness: LivenessState, *, now: float) -> LivenessState:
    """Bring up an instance of which nothing is known but that another gateway just had a good answer of it."""
    return LivenessState(Liveness.UP, since=now) if liveness.down_by is DownBy.NEW else liveness
