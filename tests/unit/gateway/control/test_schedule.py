from __future__ import annotations

import asyncio

from gateway.control.schedule import AT_ONCE, NEVER, ProbeSchedule
from gateway.control.standing import InstanceKey
from tests.support.control import Clock


def key(name: str) -> InstanceKey:
    return ("m", "v1.0.0", name)


def due(schedule: ProbeSchedule) -> list[str]:
    return [found[2] for found in iter(schedule.take_due, None)]


def test_what_is_due_comes_in_the_order_of_its_moments_new_ones_first() -> None:
    schedule = ProbeSchedule(clock := Clock())
    schedule.put(key("later"), clock() + 2)
    schedule.put(key("soon"), clock() + 1)
    schedule.put(key("far"), clock() + 100)
    clock.pass_(3)
    schedule.put(key("new"), AT_ONCE)

    assert due(schedule) == ["new", "soon", "later"]
    assert len(schedule) == 1


def test_those_that_are_down_come_after_those_in_good_order() -> None:
    schedule = ProbeSchedule(clock := Clock())
    for number in range(50):
        schedule.put(key(f"dead-{number}"), clock() - 10, is_down=True)
    schedule.put(key("live"), clock())

    assert due(schedule)[0] == "live"


def test_where_all_probes_are_taken_every_fourth_goes_to_one_that_is_down() -> None:
    schedule = ProbeSchedule(clock := Clock())
    for number in range(100):
        schedule.put(key(f"live-{number}"), clock())
        schedule.put(key(f"dead-{number}"), clock(), is_down=True)

    taken = [found[2] for _ in range(40) if (found := schedule.take_due()) is not None]

    assert sum(name.startswith("dead") for name in taken) == 10


def test_what_is_taken_over_passes_what_waits_for_its_turn() -> None:
    schedule = ProbeSchedule(clock := Clock())
    for number in range(50):
        schedule.put(key(f"waiting-{number}"), clock() - 10)
    schedule.put(key("orphan"), NEVER)
    schedule.rouse(key("orphan"), clock() + 1)

    assert next(iter(due(schedule))) == "waiting-0"
    schedule.put(key("waiting"), clock() - 10)
    schedule.put(key("new"), AT_ONCE)
    clock.pass_(1)
    assert due(schedule) == ["new", "orphan", "waiting"]


def test_what_has_a_moment_is_not_roused() -> None:
    schedule = ProbeSchedule(clock := Clock())
    schedule.put(key("a"), clock() + 5)
    schedule.rouse(key("a"), clock())

    assert due(schedule) == []


def test_a_later_word_overtakes_an_earlier_one() -> None:
    schedule = ProbeSchedule(clock := Clock())
    schedule.put(key("a"), clock())
    schedule.put(key("a"), clock() + 5)

    assert due(schedule) == []
    clock.pass_(5)
    assert due(schedule) == ["a"]
    assert due(schedule) == []


def test_hastening_brings_forward_and_never_puts_off() -> None:
    schedule = ProbeSchedule(clock := Clock())
    schedule.put(key("a"), clock() + 5, is_down=True)
    schedule.hasten(key("a"), clock() + 9)
    schedule.hasten(key("a"), clock() + 1)
    clock.pass_(1)

    assert due(schedule) == ["a"]


def test_hastening_leaves_alone_what_is_being_probed_and_what_left() -> None:
    schedule = ProbeSchedule(clock := Clock())
    schedule.put(key("probed"), clock())
    schedule.put(key("left"), clock())
    due(schedule)
    schedule.drop(key("left"))
    schedule.hasten(key("probed"), clock())
    schedule.hasten(key("left"), clock())

    assert due(schedule) == []


def test_what_left_is_not_due() -> None:
    schedule = ProbeSchedule(clock := Clock())
    schedule.put(key("a"), clock())
    schedule.drop(key("a"))

    assert due(schedule) == []
    assert len(schedule) == 0


def test_waiting_ends_when_something_is_put_or_becomes_due() -> None:
    async def story() -> list[str]:
        loop = asyncio.get_running_loop()
        schedule = ProbeSchedule(loop.time)
        loop.call_later(0.01, schedule.put, key("put"), AT_ONCE)
        first = await schedule.next()
        schedule.put(key("timed"), loop.time() + 0.01)
        return [first[2], (await schedule.next())[2]]

    assert asyncio.run(story()) == ["put", "timed"]
