from __future__ import annotations

import asyncio
from collections.abc import Collection, Coroutine, Iterable
from contextlib import nullcontext
from dataclasses import replace

import pytest

from gateway.control.documents import Documents
from gateway.control.watcher import NothingReadable, Watcher
from gateway.sources.reading import Reading
from gateway.telemetry.changes import ChangeKind as Kind
from tests.support.control import Story, contract, reading

ONE, TWO, THREE = "contracts/m/v1.0.0", "contracts/m/v2.0.0", "contracts/m/v3.0.0"
GOOD = {ONE: contract("v1.0.0"), TWO: contract("v2.0.0", accepts="b"), THREE: contract("v3.0.0", accepts="c")}


class Script:
    """A source that says what it is told to say."""

    kind = "files"
    place = "file:somewhere"

    def __init__(self, readings: Iterable[Reading]) -> None:
        self._readings = iter(readings)
        self.forgotten: list[str] = []

    async def read(self) -> Reading:
        return next(self._readings)

    def forget(self, keys: Collection[str]) -> None:
        self.forgotten.extend(keys)


class Watched:
    """A watcher on a scripted source, with its fleet."""

    def __init__(self, *readings: Reading) -> None:
        self.story = Story()
        self.source = Script(readings)
        self.watcher = Watcher(
            source=self.source,
            fleet=self.story.fleet,
            listener=self.story.told.append,
            now=self.story.clock,
            wall=lambda: 1_700_000_000.0,
        )

    def rounds(self, count: int) -> None:
        for _ in range(count):
            run(self.watcher.round())

    @property
    def generation(self) -> int:
        return self.story.fleet.current().generation


def run(work: Coroutine[object, object, object]) -> object:
    return asyncio.run(work)


def test_what_the_source_holds_comes_into_force() -> None:
    watched = Watched(reading(GOOD))
    assert watched.watcher.state.last_good_at is None
    watched.rounds(1)

    assert watched.generation == 1
    assert len(watched.story.fleet.documents.contracts) == 3
    assert watched.watcher.state.ok
    assert watched.watcher.state.last_good_at == 1_700_000_000.0


def test_the_same_reading_again_is_a_good_read_and_no_work() -> None:
    same = reading(GOOD)
    watched = Watched(same, same)
    watched.rounds(1)
    watched.story.clock.pass_(10)
    watched.rounds(1)

    assert watched.generation == 1
    assert watched.watcher.state.last_read_at == watched.story.clock()


def test_it_says_how_many_texts_came_or_changed_before_it_takes_them_in() -> None:
    first = reading(GOOD)
    edited = reading({**GOOD, TWO: contract("v2.0.0", accepts="bc")})
    standing = {key: text for key, text in first.documents.items() if key != TWO}  # a source gives the same objects
    watched = Watched(first, replace(edited, documents={**edited.documents, **standing}))
    counts: list[int] = []

    def taking_in(count: int) -> nullcontext[None]:
        counts.append(count)
        return nullcontext()

    watched.watcher._taking_in = taking_in
    watched.rounds(2)

    assert counts == [3, 1]
    assert watched.generation == 2


def test_a_failing_source_is_told_once_and_its_recovery_too() -> None:
    away = reading({}, ok=False)
    watched = Watched(reading(GOOD), away, away, reading(GOOD))
    watched.rounds(1)
    watched.story.kinds()
    watched.rounds(2)
    failed = watched.story.kinds()
    watched.rounds(1)
    recovered = watched.story.kinds()

    assert failed.count(Kind.SOURCE_FAILED) == 1
    assert recovered.count(Kind.SOURCE_RECOVERED) == 1
    assert watched.generation == 1


def test_a_source_that_was_never_there_is_told_at_the_first_look() -> None:
    watched = Watched(reading({}, ok=False), reading(GOOD))
    watched.rounds(1)

    assert watched.story.kinds() == [Kind.SOURCE_FAILED]
    assert watched.generation == 0
    assert watched.watcher.state.problems == ("the folder is away",)
    assert watched.watcher.state.last_good_at is None


def test_an_apply_that_failed_is_tried_again() -> None:
    same = reading(GOOD)
    watched = Watched(same, same)
    apply = watched.story.fleet.apply
    failing = iter([True, False])

    class Stumbling:
        documents = watched.story.fleet.documents

        async def apply(self, documents: Documents) -> None:
            if next(failing):
                raise RuntimeError("stumbled")
            await apply(documents)

    watched.watcher._fleet = Stumbling()
    with pytest.raises(RuntimeError):
        watched.rounds(1)
    assert watched.watcher.state.last_good_at is None
    watched.rounds(1)

    assert watched.generation == 1


def test_the_operator_confirms_what_is_gone() -> None:
    watched = Watched(reading(GOOD), reading({}, gone=set(GOOD)))
    watched.rounds(2)
    assert watched.generation == 1
    removed = run(watched.watcher.prune())

    assert removed == (ONE, TWO, THREE)
    assert watched.source.forgotten == [ONE, TWO, THREE]
    assert watched.generation == 2
    assert not watched.story.fleet.current().models


def test_nothing_is_confirmed_while_the_source_cannot_be_read() -> None:
    watched = Watched(reading(GOOD), reading({}, ok=False))
    watched.rounds(2)

    with pytest.raises(NothingReadable, match="file:somewhere"):
        run(watched.watcher.prune())
    assert watched.generation == 1


def test_nothing_is_confirmed_before_the_first_reading() -> None:
    with pytest.raises(NothingReadable):
        run(Watched().watcher.prune())
