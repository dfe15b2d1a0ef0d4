"""Stories of instances that are shared with other gateways: who probes, what is heard, what is told."""

from __future__ import annotations

from typing import Any

import pytest

from contracts.verdict import judge
from gateway.control.standing import InstanceKey, Tracked
from gateway.health.identity import Identity
from gateway.health.liveness import ExchangeOutcome, ProbeOutcome
from gateway.sharing.hearsay import GRACE_S, TAKE_UP_S
from gateway.sharing.sighting import Sighting, sighting_of
from gateway.telemetry.changes import ChangeKind as Kind
from inference_dna.observation import Observation
from tests.support.control import Story, contract, digest, dna, stated

A, B = "http://10.0.0.1:8000", "http://10.0.0.2:8000"
NAMED = "http://worker.example:8000"


def key(url: str) -> InstanceKey:
    return ("m", "v1.0.0", url)


def told(url: str, seed: str = "a", identity: Identity = Identity.VERIFIED, *, serial: int = 1) -> Sighting:
    return sighting_of(key(url), stated(seed), identity, serial=serial)


class Shared(Story):
    """A story in which only some instances fall to this gateway."""

    def __init__(self, *mine: str) -> None:
        super().__init__()
        self.mine = {key(url) for url in mine}
        self.shared: list[tuple[str, Identity]] = []
        self.fleet.share(is_mine=self.mine.__contains__, on_seen=self._seen)

    def _seen(self, seen: InstanceKey, one: Tracked, observation: Observation) -> None:
        assert observation.http is not None
        self.shared.append((seen[2], one.identity.identity))

    def due(self, *, after: float = 0.0) -> list[str]:
        """URLs that are due for a probe once so many seconds have passed."""
        self.clock.pass_(after)
        return [one[2] for one in iter(self.schedule.take_due, None)]


@pytest.fixture
def story() -> Shared:
    """A is ours, B falls to others; both verified."""
    made = Shared(A)
    made.apply(contract("v1.0.0", A, B))
    made.due()
    made.probe(A)
    made.fleet.hear(told(B), by="other~1")
    made.kinds()
    made.shared.clear()
    return made


def test_a_new_instance_of_others_waits_for_their_word() -> None:
    story = Shared(A)
    story.apply(contract("v1.0.0", A, B))
    assert story.due() == [A]
    story.kinds()
    story.fleet.hear(told(B), by="other~1")

    assert story.ready() == [B]
    assert story.kinds() == [Kind.INSTANCE_VERIFIED, Kind.INSTANCE_UP]
    assert story.due(after=3 * GRACE_S) == []


def test_where_nobody_says_anything_we_look_ourselves() -> None:
    story = Shared()
    story.apply(contract("v1.0.0", B))

    assert story.due(after=GRACE_S - 0.1) == []
    assert story.due(after=GRACE_S + 0.2) == [B]


def test_an_instance_that_is_named_is_probed_by_everybody() -> None:
    story = Shared()
    story.apply(contract("v1.0.0", NAMED))

    assert story.due() == [NAMED]


def test_what_falls_to_others_is_not_probed_while_it_is_well(story: Shared) -> None:
    assert story.ready() == [A, B]
    assert story.due(after=60.0) == [A]


def test_a_doubt_heard_takes_it_out_and_names_who_saw_it(story: Shared) -> None:
    story.fleet.hear(told(B, "b", Identity.EJECTED, serial=2), by="other~1")

    assert story.ready() == [A]
    assert str(story.instance(B).refusal) == "ejected: digest differs, seen by gateway other"
    assert story.kinds() == [Kind.INSTANCE_EJECTED]
    assert story.due(after=60.0) == [A]
    assert story.shared == []  # hearsay is not passed on


def test_a_doubt_of_what_is_ours_is_looked_at_at_once(story: Shared) -> None:
    story.fleet.hear(told(A, "b", Identity.EJECTED), by="other~1")
    assert story.due() == [A]
    story.probe(A)

    assert story.ready() == [A, B]


def test_the_doubter_brings_it_back(story: Shared) -> None:
    story.fleet.hear(told(B, "b", Identity.EJECTED, serial=2), by="other~1")
    story.kinds()
    story.fleet.hear(told(B, serial=3), by="other~1")

    assert story.ready() == [A, B]
    assert story.kinds() == [Kind.INSTANCE_READMITTED]


def test_where_the_doubter_is_gone_we_look_at_once(story: Shared) -> None:
    story.fleet.hear(told(B, "b", Identity.EJECTED, serial=2), by="other~1")
    story.fleet.unhear(key(B), by="other~1")

    assert story.due() == [B]
    assert story.ready() == [A]
    story.probe(B)
    assert story.ready() == [A, B]


def test_what_a_probe_of_ours_finds_is_told(story: Shared) -> None:
    story.probe(A, stated("b"))
    story.probe(A, stated("b"))
    story.probe(A)

    assert story.shared == [(A, Identity.EJECTED), (A, Identity.VERIFIED)]


def test_what_an_answer_shows_is_told_and_looked_at_by_whoever_it_falls_to(story: Shared) -> None:
    instance = story.instance(B)
    observation = Observation(200, dna=dna("b"), digest=digest("b"), model_id="m", version="v1.0.0")
    verdict = judge(story.view("v1.0.0").contract, observation)
    story.fleet.observe_response(instance, observation, verdict, started_at=story.clock())

    assert story.shared == [(B, Identity.EJECTED)]
    assert B in story.due(after=6.0)
    story.probe(B)
    assert story.shared[-1] == (B, Identity.VERIFIED)
    assert B not in story.due(after=60.0)


def test_whether_our_way_is_open_nobody_else_can_tell(story: Shared) -> None:
    story.fleet.observe_exchange(story.instance(B), ExchangeOutcome.REFUSED)
    story.fleet.hear(told(B, serial=2), by="other~1")

    assert story.ready() == [A]
    assert B in story.due(after=6.0)
    story.probe(B)
    story.probe(B)
    assert story.ready() == [A, B]
    assert B not in story.due(after=60.0)


def test_what_newly_falls_to_us_is_probed_soon_and_what_no_longer_does_not_at_all(story: Shared) -> None:
    story.probe(A)
    story.mine.clear()
    story.mine.add(key(B))
    story.fleet.redivide()

    assert story.due(after=TAKE_UP_S) == [B]
    assert story.due(after=60.0) == []


def test_another_contract_admits_nobody_who_was_doubted_by_others(story: Shared) -> None:
    story.fleet.hear(told(B, "b", Identity.EJECTED, serial=2), by="other~1")
    story.apply(contract("v1.0.0", A, B, accepts="ab"))

    assert story.ready() == [A]
    story.fleet.hear(told(B, "b", Identity.VERIFIED, serial=3), by="other~1")
    assert story.ready() == [A, B]


def test_another_contract_holds_what_was_vouched_for_against_what_was_told(story: Shared) -> None:
    story.apply(contract("v1.0.0", A, B, accepts="b"))

    assert story.ready() == []
    assert str(story.instance(B).refusal) == "ejected: digest differs"


def test_hearsay_of_an_instance_that_is_not_there_is_dropped(story: Shared) -> None:
    story.fleet.hear(told("http://10.9.9.9:1"), by="other~1")
    story.fleet.unhear(key("http://10.9.9.9:1"), by="other~1")

    assert story.kinds() == []


def test_a_probe_that_failed_is_nothing_to_tell(story: Shared) -> None:
    probed: dict[str, Any] = {"outcome": ProbeOutcome.REFUSED}
    story.probe(A, **probed)

    assert story.shared == []
