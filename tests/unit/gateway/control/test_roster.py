"""What an instance keeps of its state when its contract changes: never more than it can prove."""

from __future__ import annotations

from typing import Any

import pytest

from contracts.contract import Contract, parse_contract
from gateway.control.roster import enrol
from gateway.control.standing import Probe, Tracked
from gateway.health.identity import Identity, IdentityState
from gateway.health.liveness import ProbeOutcome
from inference_dna.observation import Observation
from tests.support.control import contract, digest, dna, stated

URL = "http://10.0.0.1:8000"


def parsed(*urls: str, accepts: str = "a", **fields: Any) -> Contract:
    return parse_contract(contract("v1.0.0", *(urls or (URL,)), accepts=accepts, **fields))


def known(identity: Identity, *, probed: Observation | None, under: Contract) -> dict[tuple[str, str, str], Tracked]:
    """One instance in this state, whose last probe stated this at second 10."""
    (one,) = enrol(under, {}, now=0)
    probe = Probe(10.1, ProbeOutcome.OK, 0.1, "", probed, 10.0) if probed else None
    doubted_at = float("-inf") if identity is Identity.VERIFIED else 10.1
    state = IdentityState(identity, "as it was", dna=dna("a"), digest=digest("a"), doubted_at=doubted_at)
    tracked = Tracked(one.instance, under, one.listed, identity=state, probe=probe, stated=probe)
    return {one.instance.key: tracked}


def test_addresses_become_instances_in_the_contracts_order() -> None:
    urls = ("http://worker-2:9000/base", "https://worker-1", "http://[::1]:9001")
    ones = [one.instance for one in enrol(parsed(*urls, limits={"max_in_flight": 7}), {}, now=5)]

    assert [one.id for one in ones] == ["worker-2:9000/base", "worker-1:443", "[::1]:9001"]
    assert [(one.host, one.port, one.tls, one.base_path) for one in ones] == [
        ("worker-2", 9000, False, "/base"),
        ("worker-1", 443, True, ""),
        ("::1", 9001, False, ""),
    ]
    assert {one.max_in_flight for one in ones} == {7}
    assert {str(one.refusal) for one in ones} == {"unverified: not probed yet"}


def test_a_retired_version_has_none() -> None:
    assert enrol(parsed(status="retired"), {}, now=0) == ()


def test_the_same_contract_keeps_the_very_state() -> None:
    under = parsed()
    tracked = known(Identity.VERIFIED, probed=stated(), under=under)

    assert enrol(under, tracked, now=20)[0] is next(iter(tracked.values()))


A_STRANGER = stated("b")


@pytest.mark.parametrize(
    ("was", "probed", "accepts", "fields", "becomes"),
    [
        pytest.param(Identity.VERIFIED, stated(), "a", {"strikes": 9}, Identity.VERIFIED, id="nothing-that-matters"),
        pytest.param(Identity.VERIFIED, stated(), "ab", {}, Identity.VERIFIED, id="one-more-accepted"),
        pytest.param(Identity.VERIFIED, stated(), "b", {}, Identity.EJECTED, id="another-accepted"),
        pytest.param(Identity.VERIFIED, stated(), "", {}, Identity.UNVERIFIED, id="nothing-accepted"),
        pytest.param(
            Identity.VERIFIED, stated(), "a", {"min_assurance": "attested"}, Identity.UNVERIFIED, id="more-assurance"
        ),
        pytest.param(
            Identity.VERIFIED,
            stated(hardware={"accelerators": [{"name": "NVIDIA T4"}]}),
            "a",
            {"contract": {"hardware_requirements": {"gpu": ["A100"]}}},
            Identity.EJECTED,
            id="other-hardware",
        ),
        pytest.param(Identity.VERIFIED, None, "b", {}, Identity.UNVERIFIED, id="nothing-known-of-it"),
        pytest.param(Identity.EJECTED, None, "b", {}, Identity.EJECTED, id="ejected-and-nothing-known"),
        pytest.param(Identity.EJECTED, stated(), "ab", {}, Identity.EJECTED, id="ejected-until-its-next-probe"),
        pytest.param(
            Identity.UNVERIFIED, stated("b"), "b", {}, Identity.UNVERIFIED, id="unverified-until-its-next-probe"
        ),
        pytest.param(Identity.SUSPECT, A_STRANGER, "a", {}, Identity.EJECTED, id="suspect-and-now-clearly-another"),
        pytest.param(
            Identity.VERIFIED, Observation(None), "a", {}, Identity.UNVERIFIED, id="a-statement-that-says-nothing"
        ),
    ],
)
def test_v8_what_it_last_stated_is_held_against_the_new_contract(
    was: Identity, probed: Observation | None, accepts: str, fields: dict[str, Any], becomes: Identity
) -> None:
    tracked = known(was, probed=probed, under=parsed())
    (one,) = enrol(parsed(accepts=accepts, **fields), tracked, now=20)

    assert one.identity.identity is becomes
    assert one.liveness is next(iter(tracked.values())).liveness
