"""Which instances a contract has, and what they keep of their state when it changes: pure.

Fail closed: a new instance knows nothing; one whose contract changed is judged again by what it last stated, and where
that is not clearly a match it is not verified until its next probe.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from contracts.address import parse_address
from contracts.contract import Contract
from contracts.terms import Status
from contracts.verdict import VerdictKind, judge
from gateway.control.catalogue import NO_CHOICE, Choice, Listed, version_key
from gateway.control.resolver import literal
from gateway.control.standing import InstanceKey, Probe, Tracked
from gateway.health import identity as identities
from gateway.health.identity import Identity, IdentityState
from gateway.health.liveness import ProbeOutcome
from gateway.routing.snapshot import Instance, Refusal
from gateway.sharing.hearsay import alive_by_hearsay, hear
from gateway.sharing.names import gateway_of
from gateway.sharing.sighting import Sighting

_NEW = Refusal(Identity.UNVERIFIED.value, identities.NEW.reason)


def enrol(
    contract: Contract,
    tracked: Mapping[InstanceKey, Tracked],
    *,
    choice: Choice = NO_CHOICE,
    had: Iterable[Tracked] = (),
    now: float,
) -> tuple[Tracked, ...]:
    """List the instances of a contract, in its order or the catalogue's, each with what it keeps of its state.

    Args:
        contract: The contract; a retired one has no instances, so nothing of it is probed.
        tracked: What is known of instances.
        choice: What the catalogue gives.
        had: The instances of this version so far: they stay while a service lists nothing at all, which is no proof
            that there are none (consul.md, W25), such as right after the contract first named it.
        now: Monotonic second.
    """
    if contract.status is Status.RETIRED:
        return ()
    return tuple(_enrol_one(listed, contract, tracked, now=now) for listed in _listed(contract, choice, had))


def _listed(contract: Contract, choice: Choice, had: Iterable[Tracked]) -> tuple[Listed, ...]:
    if contract.service is None:
        return tuple(map(Listed, dict.fromkeys(contract.instances)))
    if not choice.lists_any(contract.service):
        return tuple(one.listed for one in had)
    return choice.instances.get(version_key(contract), ())


def _instance(contract: Contract, listed: Listed) -> Instance:
    address = parse_address(listed.url)
    return Instance(
        id=address.authority + address.base_path,
        url=listed.url,
        host=address.host,
        address=literal(address.host) or "",
        port=address.port,
        tls=address.tls,
        base_path=address.base_path,
        model_id=contract.model_id,
        version=contract.version,
        weight=listed.weight,
        max_in_flight=contract.limits.max_in_flight,
        refusal=_NEW,
    )


def _enrol_one(listed: Listed, contract: Contract, tracked: Mapping[InstanceKey, Tracked], *, now: float) -> Tracked:
    known = tracked.get((*version_key(contract), listed.url))
    if known is None:
        return Tracked(_instance(contract, listed), contract, listed)
    if known.contract is contract:
        return known if known.listed == listed else replace(known, listed=listed)
    return replace(
        known,
        instance=replace(known.instance, max_in_flight=contract.limits.max_in_flight),
        contract=contract,
        listed=listed,
        identity=_judge_again(known, contract, now=now),
    )


def moved(one: Tracked, address: str) -> Tracked:
    """Let an instance whose name has another address now begin anew; only what it was doubted for stays."""
    doubted = one.identity.identity in {Identity.EJECTED, Identity.SUSPECT}
    there = replace(one.instance, address=address)
    return Tracked(there, one.contract, one.listed, identity=one.identity if doubted else identities.NEW)


def heard(one: Tracked, told: Sighting, *, by: str, now: float) -> Tracked:
    """Take in what another gateway saw; the very same object where that changes nothing."""
    hearsay, identity = hear(one.hearsay, one.identity, one.contract, told, by=by, now=now)
    if hearsay is one.hearsay and identity is one.identity:
        return one
    after = replace(one, hearsay=hearsay, identity=identity)
    if identity is one.identity:
        return after
    # Nobody knows by our clock when their probe began; should the contract change, it admits nobody who was doubted.
    began = float("-inf")
    stated = Probe(now, ProbeOutcome.OK, 0.0, f"seen by gateway {gateway_of(by)}", told.observation, began)
    is_vouched_for = identity.identity is Identity.VERIFIED
    liveness = alive_by_hearsay(one.liveness, now=now) if is_vouched_for else one.liveness
    return replace(after, stated=stated, liveness=liveness)


def _judge_again(known: Tracked, contract: Contract, *, now: float) -> IdentityState:
    """Hold what an instance last stated against another contract."""
    doubted = known.identity.identity in {Identity.EJECTED, Identity.SUSPECT}
    if known.stated is None:
        return known.identity if doubted else identities.NEW
    observation = known.stated.observation
    verdict = judge(contract, observation)
    if verdict.kind is VerdictKind.ABSENT:
        return known.identity if doubted else identities.NEW
    return identities.observe(
        known.identity,
        verdict,
        observation,
        strikes=contract.strikes,
        started_at=known.stated.started_at,
        now=now,
    )
