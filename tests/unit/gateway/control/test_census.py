"""The counts of a version are those of its instances, whatever happened and in whatever order."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.control.census import Census
from gateway.health.liveness import ExchangeOutcome, ProbeOutcome
from tests.support.control import Story, contract, stated

URLS = [f"http://127.0.0.1:{port}" for port in range(9000, 9005)]
EVENTS = st.one_of(
    st.tuples(st.just("probe"), st.sampled_from(URLS), st.sampled_from("ab")),
    st.tuples(st.just("fail"), st.sampled_from(URLS), st.sampled_from(list(ExchangeOutcome))),
    st.tuples(st.just("refused"), st.sampled_from(URLS), st.none()),
    st.tuples(st.just("documents"), st.integers(1, len(URLS)), st.sampled_from("ab")),
    st.tuples(st.just("time"), st.integers(1, 400), st.none()),
)


def happen(story: Story, event: tuple[object, object, object]) -> None:
    kind, subject, what = event
    if kind == "documents":
        assert isinstance(subject, int)
        story.apply(contract("v1.0.0", *URLS[:subject], accepts=str(what)))
    elif kind == "time":
        story.clock.pass_(float(str(subject)))
    elif (url := str(subject)) and story.key(url) in story.fleet.tracked:
        if kind == "probe":
            story.probe(url, stated(str(what)))
        elif kind == "refused":
            story.probe(url, outcome=ProbeOutcome.REFUSED)
        else:
            for _ in range(5):
                story.fleet.observe_exchange(story.instance(url), ExchangeOutcome(str(what)))


@settings(deadline=None, max_examples=150)
@given(st.lists(EVENTS, max_size=30))
def test_the_counts_follow_every_change(events: list[tuple[object, object, object]]) -> None:
    story = Story()
    story.apply(contract("v1.0.0", *URLS))
    for event in events:
        happen(story, event)
        recounted = Census()
        for one in story.fleet.tracked.values():
            recounted.add(one)
        view = story.view()

        assert story.fleet._board.census(view.contract) == recounted
        assert recounted.ready == len(view.ready)
        assert {i.id for i in view.ready} == {
            one.instance.id for one in story.fleet.tracked.values() if one.instance.refusal is None
        }


def test_a_version_may_leave_right_after_one_of_its_instances_changed() -> None:
    story = Story()
    other = contract("v2.0.0", "http://127.0.0.1:9100")
    story.apply(contract("v1.0.0", *URLS), other)
    story.probe(URLS[0])  # nobody asks for the snapshot after this

    story.apply(other)
    story.probe("http://127.0.0.1:9100", stated(version="v2.0.0"), version="v2.0.0")
    story.apply()

    assert story.swaps == [1, 2, 3]
    assert story.fleet.current().models == {}
    assert story.fleet._board._census == {}
