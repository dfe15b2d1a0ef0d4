import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from tools.demo.make_above import MakeAbove, blocks


@contextmanager
def blocked(which: signal.Signals) -> Iterator[None]:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [which])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def test_a_blocked_signal_shows_only_while_it_is_blocked() -> None:
    assert not blocks(os.getpid(), signal.SIGINT)
    with blocked(signal.SIGINT):
        assert blocks(os.getpid(), signal.SIGINT)
        assert not blocks(os.getpid(), signal.SIGTERM)
    assert not blocks(os.getpid(), signal.SIGINT)


def test_a_process_that_is_not_there_blocks_nothing() -> None:
    assert not blocks(0, signal.SIGINT)


def test_without_make_above_nothing_is_watched() -> None:
    above = MakeAbove({})

    assert not any(above.wants_the_end() for _ in range(3))


def test_a_parent_that_lives_and_was_told_nothing_wants_nothing() -> None:
    above = MakeAbove({"MAKELEVEL": "1"})

    assert not any(above.wants_the_end() for _ in range(3))
