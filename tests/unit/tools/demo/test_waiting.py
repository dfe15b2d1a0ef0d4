import asyncio
from collections.abc import Iterator

import pytest

from tools.demo.waiting import InVain, NotYet, wait_until


def after(rounds: int) -> Iterator[str]:
    yield from ["not so"] * rounds
    yield ""


async def ask(states: Iterator[str]) -> str:
    if state := next(states):
        raise NotYet(state)
    return "found"


def nothing() -> None:
    """Let all processes live."""


def test_what_is_found_is_given_back() -> None:
    states = after(2)

    assert asyncio.run(wait_until("it is so", lambda: ask(states), meanwhile=nothing)) == "found"


def test_in_vain_says_what_was_waited_for_and_how_it_stood(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.demo.waiting.DEADLINE_S", 0.2)
    states = after(1_000)

    with pytest.raises(InVain, match="until it is so, in vain: not so"):
        asyncio.run(wait_until("it is so", lambda: ask(states), meanwhile=nothing))


def test_what_happens_meanwhile_ends_the_waiting() -> None:
    states = after(1_000)

    def somebody_died() -> None:
        raise RuntimeError("somebody died")

    with pytest.raises(RuntimeError, match="somebody died"):
        asyncio.run(wait_until("it is so", lambda: ask(states), meanwhile=somebody_died))
