from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from inference_dna import guard
from inference_dna.measure.healthz import Served
from inference_dna.serving.standing import Standing
from worker.backend import Cancelled, Message
from worker.bundle import BundleRefused
from worker.decoding import answer
from worker.demo.recipes import BUNDLES
from worker.generation import Allowed, Ended, GenerationRequest, Settings, Token
from worker.lifecycle import Crash, Lifecycle
from worker.loader import Loader, Opened
from worker.readiness import Demands, SelfTestFailed, ask_itself, promises_determinism


class Counting:
    """Says numbers that go on from answer to answer, as a generator of chance does that all requests share."""

    defaults, allowed, context = Settings(), Allowed(), 1000

    def __init__(self, numbers: Iterator[int]) -> None:
        self.numbers = numbers

    def encode(self, text: str) -> tuple[int, ...]:
        return tuple(text.encode())

    def encode_chat(self, messages: Sequence[Message]) -> tuple[int, ...]:
        return self.encode(messages[0]["content"])

    def generate(self, request: GenerationRequest, cancelled: Cancelled) -> Iterator[Token | Ended]:
        return answer(self.numbers, request, decode=str, end_ids=(), cancelled=cancelled)

    def warm_up(self) -> None:
        """Nothing is slow the first time."""

    def described(self, environ: Mapping[str, str]) -> guard.Worker:
        return Loader(BUNDLES / "v2.3.1").get().backend.described(environ)

    def reachable(self) -> Mapping[str, object]:
        return {}

    def frozen(self) -> Mapping[str, object]:
        return {}


def test_a_worker_that_answers_otherwise_the_second_time_fails_its_self_test() -> None:
    backend = Counting(itertools.count())

    with pytest.raises(SelfTestFailed, match="different answers to one input"):
        ask_itself(Opened(backend, text=backend))


def test_a_worker_that_always_answers_the_same_passes() -> None:
    backend = Counting(itertools.repeat(7))

    ask_itself(Opened(backend, text=backend))


def test_a_failed_self_test_ends_the_worker_with_its_reason(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = Counting(itertools.count())
    loader = Loader(BUNDLES / "v2.3.1")
    monkeypatch.setattr(loader, "get", lambda: Opened(backend, text=backend))
    ends: list[Crash] = []
    lifecycle = Lifecycle(Standing(served), end=ends.append)

    lifecycle.load(loader, {}, Demands(deterministic=True))

    (crash,) = ends
    assert crash.code == guard.UNPROVEN
    assert "promises to be deterministic" in crash.report
    assert not lifecycle.standing.is_ok


@pytest.mark.parametrize(
    ("behaviour", "promised"),
    [({"deterministic": True}, True), ({"deterministic": False}, False), ({}, False)],
    ids=["promised", "not", "silent"],
)
def test_a_contract_says_whether_it_promises_determinism(
    tmp_path: Path, behaviour: dict[str, bool], promised: bool
) -> None:
    contract = tmp_path / "contract.json"
    contract.write_text(json.dumps({"contract": {"behavioral_constraints": behaviour}}), encoding="utf-8")

    assert promises_determinism(contract) is promised


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"contract": 5}'])
def test_a_file_that_is_no_contract_is_a_sentence(tmp_path: Path, text: str) -> None:
    contract = tmp_path / "contract.json"
    contract.write_text(text, encoding="utf-8")

    with pytest.raises(BundleRefused, match=r"contract\.json"):
        promises_determinism(contract)
