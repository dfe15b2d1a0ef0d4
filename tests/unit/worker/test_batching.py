from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from worker.backend import Inference
from worker.batching import Batching
from worker.ranking import Answer


class Lengths:
    """Labels a text by its length; the first batch waits until it may go on."""

    names: Mapping[str, Mapping[str, str]] = {}

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.may_go_on = Event()
        self.begun = Event()

    def classify(self, texts: Sequence[str]) -> list[Inference]:
        self.batches.append(list(texts))
        self.begun.set()
        self.may_go_on.wait(10)
        if "bad" in texts:
            raise ValueError("bad")
        return [Inference(Answer(str(len(text)), 1.0, ()), "") for text in texts]


def test_whoever_comes_while_a_batch_computes_shares_the_next_one() -> None:
    backend = Lengths()
    batching = Batching(backend, most=3)
    with ThreadPoolExecutor(8) as threads:
        first = threads.submit(batching.classify, ["a"])
        backend.begun.wait(10)
        others = [threads.submit(batching.classify, ["b" * number]) for number in range(2, 6)]
        while len(batching._waiting) < 4:
            pass
        backend.may_go_on.set()

        answers = [call.result()[0].answer.intent for call in [first, *others]]

    assert answers == ["1", "2", "3", "4", "5"]
    assert [len(batch) for batch in backend.batches] == [1, 3, 1]


def test_a_failure_reaches_all_that_shared_the_batch_and_nobody_else() -> None:
    backend = Lengths()
    backend.may_go_on.set()
    batching = Batching(backend)

    with pytest.raises(ValueError, match="bad"):
        batching.classify(["fine", "bad"])

    assert batching.classify(["fine"])[0].answer.intent == "4"
