"""Stories of instances: what is observed, what may serve, what is told. Each change is told exactly once."""

from __future__ import annotations

import pytest

from contracts.verdict import judge
from gateway.control.assemble import assemble
from gateway.health.identity import Identity
from gateway.health.liveness import DownBy, ExchangeOutcome, ProbeOutcome
from gateway.routing.snapshot import EMPTY, Instance
from gateway.telemetry.changes import ChangeKind as Kind
from inference_dna.observation import Observation
from tests.support.control import Story, contract, digest, dna, reading, route, stated

A, B, C, D = (f"http://10.0.0.{n}:8000" for n in (1, 2, 3, 4))


def answered(story: Story, url: str, seed: str, *, started_at: float | None = None, version: str = "v1.0.0") -> None:
    """Let an answer of a worker that is `seed` come in."""
    instance = story.instance(url, version)
    observation = Observation(200, dna=dna(seed), digest=digest(seed), model_id="m", version=version)
    verdict = judge(story.view(version).contract, observation)
    at = story.clock() if started_at is None else started_at
    story.fleet.observe_response(instance, observation, verdict, started_at=at)


def due(story: Story) -> list[str]:
    """URLs that are due for a probe now."""
    return [key[2] for key in iter(story.schedule.take_due, None)]


@pytest.fixture
def story() -> Story:
    """Two verified instances of one version."""
    made = Story()
    made.apply(contract("v1.0.0", A, B))
    due(made)
    made.probe(A)
    made.probe(B)
    made.kinds()
    made.seen.clear()
    return made


# new instances --------------------------------------------------------------------------------------------------------


def test_before_any_document_there_is_the_empty_snapshot() -> None:
    assert Story().fleet.current() is EMPTY


def test_a_new_instance_gets_nothing_and_is_probed_at_once() -> None:
    story = Story()
    story.apply(contract("v1.0.0", A))

    assert story.ready() == []
    assert str(story.instance(A).refusal) == "unverified: not probed yet"
    assert due(story) == [A]


def test_one_good_probe_makes_it_ready() -> None:
    story = Story()
    story.apply(contract("v1.0.0", A))
    story.kinds()
    story.probe(A, stated(hardware={"accelerators": [{"name": "NVIDIA A100"}]}))

    assert story.ready() == [A]
    assert story.kinds() == [Kind.INSTANCE_VERIFIED, Kind.INSTANCE_UP]
    seen = story.instance(A)
    assert (seen.verified, seen.dna, seen.digest, seen.gpu_name) == (True, dna("a"), digest("a"), "NVIDIA A100")
    assert seen.ready_since == story.clock()


def test_a_worker_that_is_loading_is_not_verified() -> None:
    story = Story()
    story.apply(contract("v1.0.0", A))
    story.probe(A, Observation(503, "loading", dna=dna("a"), digest=digest("a")), outcome=ProbeOutcome.FAILED)

    assert str(story.instance(A).refusal) == "unverified: not ready"


def test_a_new_instance_that_refuses_says_so() -> None:
    story = Story()
    story.apply(contract("v1.0.0", A))
    story.kinds()
    story.probe(A, outcome=ProbeOutcome.REFUSED)

    assert str(story.instance(A).refusal) == "unverified: connection refused"
    assert story.kinds() == [Kind.INSTANCE_DOWN, Kind.VERSION_UNSERVED]


def test_a_contract_that_accepts_nothing_serves_nothing() -> None:
    story = Story()
    story.apply(contract("v1.0.0", A, accepts=""))
    story.probe(A)

    assert story.ready() == []
    assert str(story.instance(A).refusal) == "unverified: nothing accepted"


# identity -------------------------------------------------------------------------------------------------------------


def test_an_answer_that_differs_takes_the_instance_out_before_the_call_returns(story: Story) -> None:
    answered(story, A, "b")

    assert story.ready() == [B]
    assert str(story.instance(A).refusal) == "ejected: digest differs"
    assert story.kinds() == [Kind.INSTANCE_EJECTED]
    assert [one.url for one in story.seen] == [A]
    assert story.metrics.of("m", "v1.0.0").ejections == {}  # the listener counts, not the fleet


def test_a_second_answer_that_differs_is_no_news(story: Story) -> None:
    answered(story, A, "b")
    story.kinds()
    story.seen.clear()
    answered(story, A, "b")

    assert story.kinds() == []
    assert story.seen == []


def test_a_probe_that_differs_ejects_too(story: Story) -> None:
    story.probe(A, stated("b"))

    assert story.ready() == [B]
    assert story.kinds() == [Kind.INSTANCE_EJECTED]


def test_every_instance_may_be_ejected_and_none_answers_then(story: Story) -> None:
    answered(story, A, "b")
    answered(story, B, "b")

    assert story.ready() == []
    assert story.kinds() == [Kind.INSTANCE_EJECTED, Kind.INSTANCE_EJECTED, Kind.VERSION_UNSERVED]


def test_a_matching_probe_readmits(story: Story) -> None:
    answered(story, A, "b")
    story.clock.pass_(1)
    story.kinds()
    story.probe(A)

    assert story.ready() == [A, B]
    assert story.kinds() == [Kind.INSTANCE_READMITTED]


def test_a_probe_sent_before_the_mismatch_does_not_readmit(story: Story) -> None:
    story.clock.pass_(2)
    answered(story, A, "b")
    story.clock.pass_(-1)
    story.probe(A, took_s=3)

    assert story.ready() == [B]


@pytest.mark.parametrize("outcome", [ProbeOutcome.REFUSED, ProbeOutcome.FAILED])
def test_a_dead_probe_says_nothing_of_identity(story: Story, outcome: ProbeOutcome) -> None:
    for _ in range(10):
        story.probe(A, outcome=outcome)

    assert story.one(A).identity.identity is Identity.VERIFIED
    assert story.ready() == [B]
    assert story.kinds() == [Kind.INSTANCE_DOWN]


def test_a_near_miss_is_suspect_at_once_and_ejected_after_three_strikes(story: Story) -> None:
    near = Observation(200, "ok", dna="aaaaaab0" + dna("a")[8:])
    story.apply(contract("v1.0.0", A, B, dna=[{"dna": dna("a")}]))
    story.kinds()
    reasons = []
    for _ in range(3):
        story.probe(A, near)
        reasons.append(str(story.instance(A).refusal))

    assert [reason.partition(":")[0] for reason in reasons] == ["suspect", "suspect", "ejected"]
    assert story.kinds() == [Kind.INSTANCE_SUSPECT, Kind.INSTANCE_EJECTED]


def test_a_suspect_is_probed_within_about_a_second(story: Story) -> None:
    story.apply(contract("v1.0.0", A, B, dna=[{"dna": dna("a")}]))
    due(story)
    story.probe(A, Observation(200, "ok", dna="aaaaaab0" + dna("a")[8:]))
    assert story.instance(A).back_at == story.clock() + 1.0
    assert due(story) == []
    story.clock.pass_(1.2)

    assert due(story) == [A]


# liveness -------------------------------------------------------------------------------------------------------------


def test_a_refused_request_takes_the_instance_down_and_it_is_probed_soon(story: Story) -> None:
    story.fleet.observe_exchange(story.instance(A), ExchangeOutcome.REFUSED)

    assert story.ready() == [B]
    assert str(story.instance(A).refusal) == "down: connection refused"
    assert story.kinds() == [Kind.INSTANCE_DOWN]
    story.clock.pass_(1.2)
    assert due(story) == [A]


def test_it_comes_back_after_two_good_probes(story: Story) -> None:
    story.fleet.observe_exchange(story.instance(A), ExchangeOutcome.REFUSED)
    story.probe(A)
    assert story.ready() == [B]
    story.probe(A)

    assert story.ready() == [A, B]
    assert story.kinds() == [Kind.INSTANCE_DOWN, Kind.INSTANCE_UP]


def fail(story: Story, url: str, times: int = 5) -> None:
    for _ in range(times):
        story.fleet.observe_exchange(story.instance(url), ExchangeOutcome.FAILED)


@pytest.mark.parametrize(("urls", "down"), [((A,), 0), ((A, B), 1), ((A, B, C), 1), ((A, B, C, D), 2)])
def test_h4_outliers_obey_the_cap(urls: tuple[str, ...], down: int) -> None:
    story = Story()
    story.apply(contract("v1.0.0", *urls))
    for url in urls:
        story.probe(url)
    for url in urls:
        fail(story, url)

    assert len(story.ready()) == len(urls) - down


def test_h4_identity_ignores_the_cap() -> None:
    story = Story()
    story.apply(contract("v1.0.0", A))
    story.probe(A)
    answered(story, A, "b")

    assert story.ready() == []


def test_h6_refusals_by_a_good_worker_change_nothing(story: Story) -> None:
    for _ in range(50):
        story.fleet.observe_exchange(story.instance(A), ExchangeOutcome.IGNORED)
        story.fleet.observe_exchange(story.instance(A), ExchangeOutcome.OK)

    assert story.ready() == [A, B]
    assert story.kinds() == []


def test_panic_uses_outliers_again_and_never_what_refused_or_was_ejected() -> None:
    story = Story()
    story.apply(contract("v1.0.0", A, B, C, D))
    for url in (A, B, C, D):
        story.probe(url)
    fail(story, A)
    story.kinds()
    story.fleet.observe_exchange(story.instance(B), ExchangeOutcome.REFUSED)
    assert story.ready() == [C, D]
    story.fleet.observe_exchange(story.instance(C), ExchangeOutcome.REFUSED)

    assert story.ready() == [A, D]
    assert story.kinds() == [Kind.INSTANCE_DOWN, Kind.INSTANCE_DOWN, Kind.PANIC_BEGAN]

    answered(story, A, "b")

    assert story.ready() == [D]


def test_the_end_of_panic_is_told_too() -> None:
    story = Story()
    story.apply(contract("v1.0.0", A, B, C))
    for url in (A, B, C):
        story.probe(url)
    fail(story, A)
    story.fleet.observe_exchange(story.instance(B), ExchangeOutcome.REFUSED)
    story.kinds()
    story.probe(B)
    story.probe(B)

    assert story.kinds() == [Kind.INSTANCE_UP, Kind.PANIC_ENDED]


# enforcement ----------------------------------------------------------------------------------------------------------


def test_under_observe_an_instance_that_drifted_is_reported_and_serves_on() -> None:
    story = Story()
    story.apply(contract("v1.0.0", A, enforcement="observe"))
    assert story.ready() == []
    story.probe(A, stated("b"))

    assert story.ready() == [A]
    assert not story.instance(A).verified
    assert story.kinds()[-2:] == [Kind.INSTANCE_DRIFTED, Kind.INSTANCE_UP]


def test_from_observe_to_enforce_the_drifted_instance_goes() -> None:
    story = Story()
    story.apply(contract("v1.0.0", A, enforcement="observe"))
    story.probe(A, stated("b"))
    story.kinds()
    story.apply(contract("v1.0.0", A))

    assert story.ready() == []
    assert Kind.INSTANCE_EJECTED in story.kinds()


# documents ------------------------------------------------------------------------------------------------------------


def test_documents_and_instances_change_as_one_generation(story: Story) -> None:
    before = story.fleet.current()
    story.apply(contract("v1.0.0", A), contract("v2.0.0", C, accepts="c"), route(default="v1.0.0"))
    after = story.fleet.current()

    assert (before.generation, after.generation) == (1, 2)
    assert [one.url for one in before.models["m"].ranked[0].instances] == [A, B]
    assert [str(view.version) for view in after.models["m"].ranked] == ["v2.0.0", "v1.0.0"]
    assert after.models["m"].route is not None
    assert story.swaps == [1, 2]


def test_a_change_of_state_is_a_new_snapshot_of_the_same_generation(story: Story) -> None:
    before = story.fleet.current()
    answered(story, A, "b")
    after = story.fleet.current()

    assert after is not before
    assert after.generation == before.generation
    assert len(before.models["m"].ranked[0].ready) == 2
    assert after.models["m"].ranked[0].instances[1] is before.models["m"].ranked[0].instances[1]


def test_only_the_model_concerned_is_built_anew() -> None:
    story = Story()
    other = contract("v1.0.0", B, accepts="c").replace('"m"', '"other"')
    story.apply(contract("v1.0.0", A), other)
    before = story.fleet.current().models["other"]
    story.probe(A)

    assert story.fleet.current().models["other"] is before

    story.apply(contract("v1.0.0", A, strikes=4), other)

    assert story.fleet.current().models["other"] is before


def test_an_instance_keeps_its_state_when_its_contract_changes_in_nothing_that_matters(story: Story) -> None:
    story.apply(contract("v1.0.0", A, B, strikes=5))

    assert story.ready() == [A, B]
    assert story.kinds() == [Kind.GENERATION_SWAPPED]


def test_an_instance_keeps_its_state_when_others_come_and_go(story: Story) -> None:
    since = story.instance(A).ready_since
    story.clock.pass_(60)
    story.apply(contract("v1.0.0", A, C))

    assert story.ready() == [A]
    assert story.instance(A).ready_since == since
    assert C in due(story)


def test_v8_another_accepted_dna_ejects_the_old_worker_at_once(story: Story) -> None:
    story.apply(contract("v1.0.0", A, B, accepts="b"))

    assert story.ready() == []
    assert str(story.instance(A).refusal) == "ejected: digest differs"
    kinds = story.kinds()
    assert kinds.count(Kind.INSTANCE_EJECTED) == 2
    assert kinds.count(Kind.VERSION_UNSERVED) == 1
    assert set(due(story)) == {A, B}


def test_v8_back_to_the_old_dna_admits_only_after_a_probe(story: Story) -> None:
    story.apply(contract("v1.0.0", A, B, accepts="b"))
    story.clock.pass_(1)
    story.apply(contract("v1.0.0", A, B, accepts="a"))
    assert story.ready() == []
    story.probe(A)

    assert story.ready() == [A]


def test_v8_an_answer_judged_by_the_old_contract_is_judged_again(story: Story) -> None:
    sent_at = story.clock()
    old = story.view().contract
    instance = story.instance(A)
    story.clock.pass_(1)
    story.apply(contract("v1.0.0", A, B, accepts="b"))
    story.probe(A, stated("b"))
    assert story.ready() == [A]
    answer = Observation(200, dna=dna("a"), digest=digest("a"))
    story.fleet.observe_response(instance, answer, judge(old, answer), started_at=sent_at)

    assert story.ready() == []


def test_h3_a_removed_instance_is_neither_probed_nor_brought_back(story: Story) -> None:
    instance = story.instance(A)
    story.apply(contract("v1.0.0", B))
    story.clock.pass_(60)
    story.probe(A)
    story.fleet.observe_exchange(instance, ExchangeOutcome.REFUSED)
    story.fleet.observe_response(instance, stated(), judge(story.view().contract, stated()), started_at=0)

    assert due(story) == [B]
    assert story.key(A) not in story.fleet.tracked
    assert story.kinds() == [Kind.GENERATION_SWAPPED, Kind.INSTANCE_REMOVED]


def test_a_removed_model_leaves_nothing(story: Story) -> None:
    story.metrics.of("m", "v1.0.0").attempts = 1
    story.apply()

    assert not story.fleet.current().models
    assert not story.fleet.tracked
    assert story.metrics.of("m", "v1.0.0").attempts == 0
    assert len(story.schedule) == 0


def test_a_draining_version_gets_no_new_requests_and_is_still_probed(story: Story) -> None:
    story.apply(contract("v1.0.0", A, B, status="draining"))
    story.clock.pass_(60)

    assert story.ready() == []
    assert str(story.instance(A).refusal) == "draining: the version is being taken out of service"
    assert set(due(story)) == {A, B}
    assert {one.url for one in story.seen} == {A, B}

    story.apply(contract("v1.0.0", A, B))

    assert story.ready() == [A, B]


def test_a_retired_version_is_known_and_has_no_instances(story: Story) -> None:
    story.apply(contract("v1.0.0", A, B, status="retired"))

    assert story.view().instances == ()
    assert len(story.schedule) == 0


def test_a_rejected_document_is_told_once_and_changes_no_snapshot(story: Story) -> None:
    before = story.fleet.current()
    bad = assemble(story.documents, reading({"contracts/m/v1.0.0": "{"}))
    story.put(bad)
    story.put(assemble(bad, reading({"contracts/m/v1.0.0": "{"})))

    assert story.fleet.current() is before
    assert story.kinds() == [Kind.DOCUMENT_REJECTED]
    assert story.swaps == [1]


# versions and canaries ------------------------------------------------------------------------------------------------


def test_k9_a_canary_without_an_instance_is_told_once_and_when_it_serves_again() -> None:
    story = Story()
    rules = [{"version": "v2.0.0", "traffic_percentage": 5}]
    story.apply(contract("v1.0.0", A), contract("v2.0.0", B, accepts="b"), route(default="v1.0.0", canary_rules=rules))
    story.probe(A)
    story.kinds()
    story.probe(B, stated("c", version="v2.0.0"), version="v2.0.0")
    first = story.kinds()
    story.probe(B, stated("c", version="v2.0.0"), version="v2.0.0")
    again = story.kinds()
    story.clock.pass_(1)
    story.probe(B, stated("b", version="v2.0.0"), version="v2.0.0")
    back = story.kinds()

    assert first == [Kind.INSTANCE_EJECTED, Kind.INSTANCE_UP, Kind.VERSION_UNSERVED, Kind.CANARY_RETURNED]
    assert again == []
    assert back == [Kind.INSTANCE_READMITTED, Kind.VERSION_SERVED, Kind.CANARY_SERVING]


def test_v11_the_odd_one_goes_and_two_keep_serving() -> None:
    story = Story()
    story.apply(contract("v1.0.0", A, B, C))
    for url, seed in ((A, "a"), (B, "d"), (C, "a")):
        story.probe(url, stated(seed))

    assert story.ready() == [A, C]


def test_the_first_moments_are_no_alarm() -> None:
    story = Story()
    story.apply(contract("v1.0.0", A))

    assert Kind.VERSION_UNSERVED not in story.kinds()


def test_every_verdict_is_counted_by_where_it_was_seen(story: Story) -> None:
    answered(story, A, "a")
    story.probe(B, outcome=ProbeOutcome.FAILED)
    checks = story.metrics.of("m", "v1.0.0").identity_checks

    assert checks["response", "match", "declared"] == 1
    assert checks["probe", "match", "full-hash"] == 2
    assert checks["probe", "none", "none"] == 1


def test_two_contracts_may_name_one_address(story: Story) -> None:
    story.apply(contract("v1.0.0", A), contract("v2.0.0", A, accepts="b"))
    story.probe(A)
    story.probe(A, version="v2.0.0")

    assert story.ready("v1.0.0") == [A]
    assert str(story.instance(A, "v2.0.0").refusal) == "ejected: digest differs"


# where instances are ------------------------------------------------------------------------------------------------


NAMED = "http://worker.example:9001"


def named() -> tuple[Story, Instance]:
    """One verified instance whose contract gives its name, found at 10.0.0.1."""
    story = Story()
    story.apply(contract("v1.0.0", NAMED))
    story.fleet.locate(("m", "v1.0.0", NAMED), "10.0.0.1")
    story.probe(NAMED)
    (instance,) = story.view().ready
    return story, instance


def test_a_name_that_moves_to_another_address_is_another_instance_that_knows_nothing() -> None:
    story, instance = named()
    assert (instance.host, instance.address, instance.boot_id) == ("worker.example", "10.0.0.1", "00")

    story.fleet.locate(instance.key, "10.0.0.2")

    (there,) = story.view().instances
    assert (there.address, there.verified, there.boot_id) == ("10.0.0.2", False, None)
    assert str(there.refusal) == "unverified: not probed yet"
    assert story.view().ready == ()
    story.probe(NAMED)
    assert [one.address for one in story.view().ready] == ["10.0.0.2"]


def test_an_answer_from_the_address_before_verifies_nobody_at_the_new_one() -> None:
    story, instance = named()
    story.fleet.locate(instance.key, "10.0.0.2")
    seen = stated(status=None)

    story.fleet.observe_response(
        instance, seen, judge(story.fleet.tracked[instance.key].contract, seen), started_at=story.clock()
    )
    story.fleet.observe_exchange(instance, ExchangeOutcome.REFUSED)

    assert story.view().ready == ()
    assert story.fleet.tracked[instance.key].liveness.down_by is DownBy.NEW


def test_an_ejected_instance_does_not_come_back_by_moving() -> None:
    story, instance = named()
    story.probe(NAMED, stated("b"))

    story.fleet.locate(instance.key, "10.0.0.2")

    assert str(story.view().instances[0].refusal).startswith("ejected: ")


def test_the_same_address_again_changes_nothing() -> None:
    story, instance = named()
    before = story.fleet.current()

    story.fleet.locate(instance.key, "10.0.0.1")
    story.fleet.locate(("m", "v9.0.0", "http://nobody:1"), "10.0.0.1")

    assert story.fleet.current() is before
