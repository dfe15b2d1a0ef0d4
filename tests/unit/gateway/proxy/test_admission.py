"""The queue in front of a version: bounded places, bounded waits, nobody forgotten."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gateway.proxy.admission import Admission

KEY = ("m", "v1.0.0")
OTHER = ("m", "v2.0.0")


class Request:
    """Waits for room; `fits` says whether the room that came free is of use to it."""

    def __init__(
        self,
        name: str,
        queue: Admission,
        story: list[str],
        *,
        fits: Callable[[], bool] = lambda: True,
        until: float = 2.0,
    ) -> None:
        self.name = name
        self.waits_until = until
        self._queue = queue
        self._story = story
        self._fits = fits

    def join(self, *, capacity: int = 0, key: tuple[str, str] = KEY) -> bool:
        return self._queue.join(key, self, capacity=capacity)

    def admit(self) -> None:
        if self._fits():
            self._story.append(self.name)
        elif not self.join():
            self._story.append(f"{self.name} refused")

    def give_up(self) -> None:
        self._story.append(f"{self.name} gave up")


@pytest.fixture
def story() -> list[str]:
    return []


def queue_of(story: list[str], *names: str, floor: int = 100) -> tuple[Admission, list[Request]]:
    queue = Admission(floor=floor, wait_s=2.0)
    requests = [Request(name, queue, story) for name in names]
    assert all(request.join() for request in requests)
    return queue, requests


def test_room_goes_to_who_waited_longest(story: list[str]) -> None:
    queue, _ = queue_of(story, "a", "b", "c")

    queue.freed(KEY, now=0.0)
    queue.freed(KEY, now=0.0)

    assert story == ["a", "b"]
    assert queue.waiting(KEY) == 1


def test_a_full_queue_that_moves_fast_enough_keeps_its_order(story: list[str]) -> None:
    queue, _ = queue_of(story, "a", "b", "c", "d", floor=4)

    queue.freed(KEY, now=1.4)  # "a" may wait until 2.0

    assert story == ["a"]


def test_under_overload_the_newest_goes_first(story: list[str]) -> None:
    queue, _ = queue_of(story, "a", "b", "c")

    queue.freed(KEY, now=1.6)  # "a" is nearly over: whoever is served in turn would be answered too late

    assert story == ["c"]


def test_overload_is_measured_by_the_places_there_are(story: list[str]) -> None:
    queue = Admission(floor=1, wait_s=2.0)
    for name in "abc":
        assert Request(name, queue, story).join(capacity=50)

    queue.freed(KEY, now=0.0)

    assert story == ["a"]


@pytest.mark.parametrize(("floor", "capacity", "places"), [(3, 0, 3), (3, 1, 3), (3, 4, 8), (0, 1, 2), (0, 0, 0)])
def test_places_are_bounded(story: list[str], floor: int, capacity: int, places: int) -> None:
    queue = Admission(floor=floor, wait_s=2.0)

    joined = [Request(str(number), queue, story).join(capacity=capacity) for number in range(10)]

    assert joined == [True] * places + [False] * (10 - places)


def test_versions_do_not_share_places(story: list[str]) -> None:
    queue = Admission(floor=1, wait_s=2.0)

    assert Request("a", queue, story).join(key=KEY)
    assert Request("b", queue, story).join(key=OTHER)
    assert not Request("c", queue, story).join(key=OTHER)

    queue.freed(OTHER, now=0.0)
    assert story == ["b"]


def test_room_that_the_first_cannot_use_goes_to_the_next_and_the_first_keeps_its_place(story: list[str]) -> None:
    queue = Admission(floor=100, wait_s=2.0)
    picky = [False]
    first = Request("first", queue, story, fits=lambda: picky[0])
    first.join()
    Request("second", queue, story).join()
    Request("third", queue, story).join()

    queue.freed(KEY, now=0.0)
    picky[0] = True
    queue.freed(KEY, now=0.0)

    assert story == ["second", "first"]


def test_the_newest_first_does_not_ask_the_same_request_over_and_over(story: list[str]) -> None:
    queue = Admission(floor=4, wait_s=2.0)
    for name in ("a", "b"):
        Request(name, queue, story).join()
    Request("picky", queue, story, fits=lambda: False).join()

    queue.freed(KEY, now=1.9)

    assert story == ["b"]
    assert queue.waiting(KEY) == 2


def test_a_place_nobody_can_use_does_not_cost_a_whole_queue(story: list[str]) -> None:
    queue = Admission(floor=1000, wait_s=2.0)
    asked: list[int] = []

    def refuses() -> bool:
        asked.append(1)
        return False

    for number in range(500):
        Request(str(number), queue, story, fits=refuses).join()

    queue.freed(KEY, now=0.0)

    assert len(asked) < 10
    assert queue.waiting(KEY) == 500


def test_who_leaves_is_not_asked(story: list[str]) -> None:
    queue, (first, _) = queue_of(story, "a", "b")

    queue.leave(KEY, first)
    queue.leave(KEY, first)
    queue.leave(OTHER, first)
    queue.freed(KEY, now=0.0)

    assert story == ["b"]
    assert queue.waiting(KEY) == 0


def test_a_change_of_instances_lets_everybody_try_oldest_first(story: list[str]) -> None:
    queue = Admission(floor=100, wait_s=2.0)
    Request("a", queue, story).join()
    Request("b", queue, story, fits=lambda: False).join()
    Request("c", queue, story).join()

    queue.recheck(KEY)
    queue.recheck(OTHER)

    assert story == ["a", "c"]
    assert queue.waiting(KEY) == 1


def test_who_leaves_while_others_are_asked_is_not_asked(story: list[str]) -> None:
    queue = Admission(floor=100, wait_s=2.0)
    second = Request("b", queue, story)

    def second_leaves() -> bool:
        queue.leave(KEY, second)
        return True

    Request("a", queue, story, fits=second_leaves).join()
    second.join()

    queue.recheck(KEY)

    assert story == ["a"]


def test_waits_end(story: list[str]) -> None:
    queue = Admission(floor=100, wait_s=2.0)
    Request("short", queue, story, until=1.0).join()
    Request("long", queue, story, until=3.0).join()

    queue.expire(0.5)
    assert story == []
    queue.expire(1.0)
    assert story == ["short gave up"]
    assert queue.versions() == [KEY]
    queue.expire(5.0)
    assert story == ["short gave up", "long gave up"]
    assert queue.versions() == []
    assert queue.waiting(KEY) == 0


def test_room_for_a_version_nobody_waits_for(story: list[str]) -> None:
    queue, _ = queue_of(story, "a")

    queue.freed(OTHER, now=0.0)
    queue.freed(KEY, now=0.0)
    queue.freed(KEY, now=0.0)

    assert story == ["a"]
    assert queue.versions() == []
