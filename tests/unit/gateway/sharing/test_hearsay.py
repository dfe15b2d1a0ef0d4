"""What other gateways tell of an instance: who may take it out, who may bring it back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.contract import Contract, parse_contract
from contracts.verdict import judge
from gateway.health import identity as identities
from gateway.health.identity import Identity, IdentityState
from gateway.health.liveness import NEW as NEVER_PROBED
from gateway.health.liveness import DownBy, Liveness, LivenessState
from gateway.sharing.hearsay import NO_DOUBT, Hearsay, alive_by_hearsay, hear, needs_a_look, saw, withdraw
from gateway.sharing.sighting import Sighting, sighting_of
from tests.support.control import contract, stated

KEY = ("m", "v1.0.0", "http://10.0.0.1:8000")
UP = LivenessState(Liveness.UP)


def promise(**fields: Any) -> Contract:
    return parse_contract(contract("v1.0.0", KEY[2], **fields))


def told(seed: str = "a", identity: Identity = Identity.VERIFIED, **fields: Any) -> Sighting:
    return sighting_of(KEY, stated(seed, **fields), identity, serial=1)


class Story:
    """One instance on one gateway."""

    def __init__(self, **fields: Any) -> None:
        self.contract = promise(**fields)
        self.hearsay: Hearsay = NO_DOUBT
        self.identity: IdentityState = identities.NEW
        self.now = 10.0

    def hears(self, by: str, seed: str = "a", identity: Identity = Identity.VERIFIED, **fields: Any) -> None:
        self.now += 1
        sighting = told(seed, identity, **fields)
        self.hearsay, self.identity = hear(self.hearsay, self.identity, self.contract, sighting, by=by, now=self.now)

    def sees(self, seed: str = "a", *, began: float | None = None) -> None:
        self.now += 1
        observation = stated(seed)
        verdict = judge(self.contract, observation)
        started = self.now if began is None else began
        self.identity = identities.observe(
            self.identity, verdict, observation, strikes=self.contract.strikes, started_at=started, now=self.now
        )
        self.hearsay = saw(self.hearsay, verdict, self.identity.identity)

    @property
    def held(self) -> str:
        return self.identity.identity.value

    @property
    def word(self) -> str:
        return f"{self.identity.identity}: {self.identity.reason}"


def test_good_news_of_a_new_instance_counts_as_a_probe() -> None:
    story = Story()
    story.hears("b~1")

    assert story.word == "verified: digest equal"
    assert not needs_a_look(story.hearsay, story.identity, UP)


def test_the_word_of_another_admits_nobody_whom_our_contract_does_not_accept() -> None:
    story = Story()
    story.hears("b~1", "b", Identity.VERIFIED)

    assert story.word == "ejected: digest differs, seen by gateway b"


def test_a_doubt_whose_observation_our_contract_accepts_changes_nothing() -> None:
    story = Story()
    story.sees()
    before = story.identity
    story.hears("b~1", "a", Identity.EJECTED)

    assert (story.identity, story.hearsay) == (before, NO_DOUBT)


def test_no_answer_cannot_be_told() -> None:
    from inference_dna.observation import NO_ANSWER

    with pytest.raises(ValueError, match="no answer"):
        sighting_of(KEY, NO_ANSWER, Identity.VERIFIED, serial=1)


def test_an_error_of_the_server_is_no_doubt() -> None:
    story = Story()
    story.sees()
    before = story.identity
    sighting = sighting_of(KEY, stated(status=None).__class__(503), Identity.EJECTED, serial=1)

    assert hear(NO_DOUBT, before, story.contract, sighting, by="b~1", now=20.0) == (NO_DOUBT, before)


def test_only_the_doubter_takes_its_doubt_back() -> None:
    story = Story()
    story.sees()
    story.hears("b~1", "b", Identity.EJECTED)
    story.hears("c~1")
    assert story.word == "ejected: digest differs, seen by gateway b"
    story.hears("b~1")

    assert story.word == "verified: digest equal"


def test_it_stays_out_until_the_last_doubter_has_taken_its_doubt_back() -> None:
    story = Story()
    story.sees()
    story.hears("b~1", "b", Identity.EJECTED)
    story.hears("c~1", "b", Identity.EJECTED)
    story.hears("b~1")
    assert story.held == "ejected"
    story.hears("c~1")

    assert story.held == "verified"


def test_what_we_doubt_ourselves_nobody_else_admits() -> None:
    story = Story()
    story.sees("b")
    story.hears("b~1")
    story.hears("b~1", "b", Identity.EJECTED)
    story.hears("b~1")

    assert story.held == "ejected"
    assert needs_a_look(story.hearsay, story.identity, UP)


def test_a_probe_of_ours_that_began_before_we_heard_the_doubt_admits_nothing() -> None:
    story = Story()
    story.sees()
    began = story.now
    story.hears("b~1", "b", Identity.EJECTED)
    story.sees(began=began)
    assert story.held == "ejected"
    story.sees()

    assert (story.identity.identity, story.hearsay) == (Identity.VERIFIED, NO_DOUBT)


def test_where_the_doubter_left_we_look_ourselves_and_hear_nobody() -> None:
    story = Story()
    story.sees()
    story.hears("b~1", "b", Identity.EJECTED)
    assert not needs_a_look(story.hearsay, story.identity, UP)
    story.hearsay = withdraw(story.hearsay, "b~1")
    assert needs_a_look(story.hearsay, story.identity, UP)
    story.hears("c~1")
    assert story.held == "ejected"
    story.sees()

    assert story.held == "verified"


def test_good_news_from_one_who_holds_it_for_doubtful_admits_nothing() -> None:
    story = Story()
    story.hears("b~1", "a", Identity.UNVERIFIED)

    assert story.identity is identities.NEW


def test_without_its_machine_good_news_is_no_proof_where_the_contract_asks_for_one() -> None:
    requirements = {"hardware_requirements": {"gpu": ["A100"]}}
    story = Story(contract=requirements)
    story.hears("b~1")
    assert story.identity is identities.NEW
    story.hears("b~1", hardware={"accelerators": [{"name": "NVIDIA A100"}]})
    assert story.held == "verified"
    story.hears("c~1", hardware={"accelerators": [{"name": "NVIDIA H100"}]}, identity=Identity.EJECTED)

    assert story.word == "ejected: hardware differs, seen by gateway c"


def test_an_ejection_by_strikes_elsewhere_needs_no_strikes_here() -> None:
    story = Story(accepts="a")
    near: dict[str, Any] = {"dna": "aaaaaaab" + "0" * 8, "digest": None}
    story.contract = parse_contract(contract("v1.0.0", KEY[2], accepts="", dna=[{"dna": stated().dna}]))
    story.sees()
    story.hears("b~1", identity=Identity.SUSPECT, **near)
    assert story.held == "suspect"
    story.hears("b~1", identity=Identity.EJECTED, **near)

    assert story.held == "ejected"


def test_relapses_are_counted_where_they_were_seen() -> None:
    story = Story()
    for _ in range(6):
        story.hears("b~1")
        story.hears("b~1", "b", Identity.EJECTED, status=None)
    story.hears("b~1")

    assert story.word == "verified: digest equal"
    assert story.identity.relapses == 0


@pytest.mark.parametrize(
    ("hearsay", "identity", "liveness", "looks"),
    [
        pytest.param(NO_DOUBT, Identity.VERIFIED, UP, False, id="well"),
        pytest.param(Hearsay(here=True), Identity.EJECTED, UP, True, id="doubted-here"),
        pytest.param(Hearsay(doubters=frozenset("b")), Identity.EJECTED, UP, False, id="doubted-elsewhere"),
        pytest.param(NO_DOUBT, Identity.UNVERIFIED, NEVER_PROBED, True, id="nobody-says-anything"),
        pytest.param(NO_DOUBT, Identity.VERIFIED, LivenessState(Liveness.DOWN, DownBy.OUTLIER), True, id="down-here"),
        pytest.param(NO_DOUBT, Identity.VERIFIED, NEVER_PROBED, False, id="never-probed-and-vouched-for"),
    ],
)
def test_when_we_look_ourselves(hearsay: Hearsay, identity: Identity, liveness: LivenessState, looks: bool) -> None:
    assert needs_a_look(hearsay, IdentityState(identity, ""), liveness) is looks


def test_hearsay_brings_up_only_what_nothing_is_known_of() -> None:
    down = LivenessState(Liveness.DOWN, DownBy.REFUSED)

    assert alive_by_hearsay(down, now=1.0) is down
    assert alive_by_hearsay(NEVER_PROBED, now=1.0) == LivenessState(Liveness.UP, since=1.0)


seeds = st.sampled_from("abc")
words = st.sampled_from(list(Identity))
events = st.lists(
    st.one_of(
        st.tuples(st.just("hears"), st.sampled_from(["b~1", "c~1"]), seeds, words),
        st.tuples(st.just("sees"), seeds),
        st.tuples(st.just("leaves"), st.sampled_from(["b~1", "c~1"])),
    ),
    max_size=12,
)


@given(events)
def test_whatever_others_say_nobody_is_verified_whom_our_contract_does_not_accept(events: list[Any]) -> None:
    story = Story()
    for kind, *rest in events:
        if kind == "leaves":
            story.hearsay = withdraw(story.hearsay, rest[0])
        elif kind == "sees":
            story.sees(*rest)
        else:
            story.hears(*rest)
        if story.held == "verified":
            assert story.identity.digest == stated("a").digest
            assert story.hearsay == NO_DOUBT


@given(events)
def test_whoever_is_out_is_doubted_by_somebody_or_looked_at(events: list[Any]) -> None:
    """Nothing stays out for ever because everybody waits for somebody else."""
    story = Story()
    for kind, *rest in events:
        if kind == "leaves":
            story.hearsay = withdraw(story.hearsay, rest[0])
        elif kind == "sees":
            story.sees(*rest)
        else:
            story.hears(*rest)
    if story.held != "verified":
        assert story.hearsay.doubters or needs_a_look(story.hearsay, story.identity, UP)
    story.hearsay = withdraw(withdraw(story.hearsay, "b~1"), "c~1")
    story.sees()
    assert story.held == "verified"
