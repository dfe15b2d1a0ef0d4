"""Thousands of documents at once: requests go on, on the old snapshot until the new one is there, whole."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import pytest

from contracts.version import Version
from gateway.control.documents import Documents
from gateway.control.standing import Probe
from gateway.control.turns import PER_TURN
from gateway.health.identity import Identity
from gateway.health.liveness import ProbeOutcome
from gateway.routing.asking import RouteRequest
from gateway.routing.decision import Decision
from gateway.routing.router import route as decide
from gateway.routing.snapshot import Snapshot
from gateway.telemetry.changes import ChangeKind as Kind
from tests.support.control import Clock, Story, contract, documents_of, stated

OLD = "http://10.0.0.1:8000"
MANY = 40 * PER_TURN


class CountingClock(Clock):
    """The time is asked for once for each model that is worked out, so this tells how far that is."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0

    def __call__(self) -> float:
        self.asked += 1
        return super().__call__()


@dataclass
class Looks:
    """What somebody saw who looked whenever the loop was free.

    Attributes:
        snapshots: The snapshot in force, each time.
        worked_out: Models worked out, each time.
        scheduled: Instances on the schedule, each time.
    """

    snapshots: list[Snapshot] = field(default_factory=list)
    worked_out: list[int] = field(default_factory=list)
    scheduled: list[int] = field(default_factory=list)


def model(number: int, **fields: Any) -> str:
    """A contract of a model of its own with an instance of its own."""
    return contract("v1.0.0", url_of(number), model_id=f"m{number}", **fields)


def url_of(number: int) -> str:
    return f"http://10.1.{number // 250}.{number % 250}:8000"


def applied(story: Story, documents: Documents, *, meanwhile: Callable[[Looks], None] = lambda looks: None) -> Looks:
    """Put documents in force and look on; `meanwhile` is called with each look."""
    looks = Looks()
    clock = story.clock
    assert isinstance(clock, CountingClock)

    async def look_on() -> None:
        while True:
            looks.snapshots.append(story.fleet.current())
            looks.worked_out.append(clock.asked)
            looks.scheduled.append(len(story.schedule))
            meanwhile(looks)
            await asyncio.sleep(0)

    async def both() -> None:
        looking = asyncio.ensure_future(look_on())
        await story.fleet.apply(documents)
        looking.cancel()

    asyncio.run(both())
    return looks


def a_story(*texts: str) -> Story:
    """The old model, verified, with these contracts beside it."""
    story = Story(clock=CountingClock())
    story.apply(contract("v1.0.0", OLD), *texts)
    story.probe(OLD)
    story.kinds()
    return story


def largest_step(counts: list[int]) -> int:
    return max(after - before for before, after in pairwise(counts))


def test_a_bulk_import_is_worked_out_in_turns_and_shows_whole_or_not_at_all() -> None:
    story = a_story()
    before = story.fleet.current()
    looks = applied(story, documents_of(contract("v1.0.0", OLD), *map(model, range(MANY)), before=story.documents))

    assert {len(seen.models) for seen in looks.snapshots} == {1, MANY + 1}
    assert {id(seen) for seen in looks.snapshots if len(seen.models) == 1} == {id(before)}
    assert {seen.generation for seen in looks.snapshots} == {1, 2}
    assert largest_step(looks.worked_out) <= PER_TURN
    assert largest_step(looks.scheduled) <= PER_TURN
    assert len(story.schedule) == MANY + 1


def test_requests_to_what_was_there_before_are_answered_between() -> None:
    story = a_story()
    answers: list[object] = []

    def ask(looks: Looks) -> None:
        answers.append(
            decide(looks.snapshots[-1], RouteRequest(model_id="m"), in_flight=lambda one: 0, draw=0.5, now=0.0)
        )

    looks = applied(
        story,
        documents_of(contract("v1.0.0", OLD), *map(model, range(MANY)), before=story.documents),
        meanwhile=ask,
    )

    assert len(answers) == len(looks.snapshots) > MANY // PER_TURN
    assert all(isinstance(answer, Decision) for answer in answers)


def test_what_probes_find_while_much_is_worked_out_is_not_lost() -> None:
    """Half of them were worked out, verified, when all turn out to be another runtime."""
    numbers = range(MANY)
    story = a_story(*map(model, numbers))
    for number in numbers:
        probe(story, number, "a")
    found: list[str] = []

    def find_another_runtime(looks: Looks) -> None:
        if not found and looks.worked_out[-1] - looks.worked_out[0] >= MANY // 2:
            found.append("another")
            for number in numbers:
                probe(story, number, "b")

    stricter = [model(number, strikes=7) for number in numbers]
    looks = applied(
        story, documents_of(contract("v1.0.0", OLD), *stricter, before=story.documents), meanwhile=find_another_runtime
    )

    assert found
    assert {seen.generation for seen in looks.snapshots} == {1, 2}
    views = [story.fleet.current().version(f"m{number}", Version.parse("v1.0.0")) for number in numbers]
    assert {(view.contract.strikes, view.ready) for view in views if view is not None} == {(7, ())}
    identities = [one.identity.identity for key, one in story.fleet.tracked.items() if key[0] != "m"]
    assert identities == [Identity.EJECTED] * MANY
    assert story.kinds().count(Kind.INSTANCE_EJECTED) == MANY


def test_one_edit_among_many_is_done_before_anything_else_happens_but_the_planning() -> None:
    numbers = range(MANY)
    story = a_story(*map(model, numbers))
    before = story.fleet.current()
    looks = applied(
        story,
        documents_of(contract("v1.0.0", OLD), model(0, strikes=7), *map(model, numbers[1:]), before=story.documents),
    )
    after = story.fleet.current()

    assert {id(seen) for seen in looks.snapshots} <= {id(before), id(after)}
    assert {key for key in after.models if after.models[key] is not before.models[key]} == {"m0"}


def test_who_is_stopped_in_the_middle_leaves_no_instance_unprobed() -> None:
    story = a_story()
    documents = documents_of(contract("v1.0.0", OLD), *map(model, range(MANY)), before=story.documents)

    async def stopped() -> None:
        applying = asyncio.ensure_future(story.fleet.apply(documents))
        while story.fleet.current().generation == 1:  # noqa: ASYNC110 - the story looks from outside
            await asyncio.sleep(0)
        assert len(story.schedule) < MANY
        applying.cancel()
        with pytest.raises(asyncio.CancelledError):
            await applying

    asyncio.run(stopped())

    assert len(story.schedule) == MANY + 1
    assert story.kinds().count(Kind.GENERATION_SWAPPED) == 1


def probe(story: Story, number: int, seed: str) -> None:
    """Let a probe of a model's instance come back that finds this runtime."""
    key = (f"m{number}", "v1.0.0", url_of(number))
    observation = replace(stated(seed), model_id=key[0])
    story.fleet.observe_probe(key, Probe(0.0, ProbeOutcome.OK, 0.0, "", observation, story.clock.at))
