"""Which instances a contract has, and what they keep of their state when it changes: pure.

Fail closed: a new instance knows nothing; one whose contract changed is judged again by what it last stated, and where
that is not clearly a match it is not verified until its next probe.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from contracts.address import parse_address
from contracts.contract import Contract
from contracts.terms import Status
from contracts.verdict import VerdictKind, judge
from gateway.control.resolver import literal
from gateway.control.standing import InstanceKey, Tracked
from gateway.health import identity as identities
from gateway.health.identity import Identity, IdentityState
from gateway.routing.snapshot import Instance, Refusal

_NEW = Refusal(Identity.UNVERIFIED.value, identities.NEW.reason)


def enrol(contract: Contract, tracked: Mapping[InstanceKey, Tracked], *, now: float) -> tuple[Tracked, ...]:
    """List the instances of a contract, in its order, each with what it keeps of its state.

    Args:
        contract: The contract; a retired one has no instances, so nothing of it is probed.
        tracked: What is known of instances.
        now: Monotonic second.
    """
    if contract.status is Status.RETIRED:
        return ()
    listed = dict.fromkeys(contract.instances)
    return tuple(_enrol_one(_instance(contract, url), contract, tracked, now=now) for url in listed)


def _instance(contract: Contract, url: str) -> Instance:
    address = parse_address(url)
    return Instance(
        id=address.authority + address.base_path,
        url=url,
        host=address.host,
        address=literal(address.host) or "",
        port=address.port,
        tls=address.tls,
        base_path=address.base_path,
        model_id=contract.model_id,
        version=contract.version,
        max_in_flight=contract.limits.max_in_flight,
        refusal=_NEW,
    )


def _enrol_one(
    instance: Instance, contract: Contract, tracked: Mapping[InstanceKey, Tracked], *, now: float
) -> Tracked:
    known = tracked.get(instance.key)
    if known is None:
        return Tracked(instance, contract, added_at=now)
    if known.contract is contract:
        return known
    return replace(
        known,
        instance=replace(known.instance, max_in_flight=instance.max_in_flight),
        contract=contract,
        added_at=now,
        identity=_judge_again(known, contract, now=now),
    )


def moved(one: Tracked, address: str, *, now: float) -> Tracked:
    """Let an instance whose name has another address now begin anew; only what it was doubted for stays."""
    doubted = one.identity.identity in {Identity.EJECTED, Identity.SUSPECT}
    there = replace(one.instance, address=address)
    return Tracked(there, one.contract, added_at=now, identity=one.identity if doubted else identities.NEW)


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
