"""When a folder has to be walked through again: a walk costs, and the kernel tells of most changes by itself."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from gateway import runtime
from gateway.sources.notices import Notices
from gateway.sources.tree import Listing, walk

SHARE = 0.01
"""Of a core, for walks that nothing asks for."""


class Lookout:
    """Walks, and knows what was noticed since and when the next walk is due. Used by one thread at a time.

    Args:
        notices: What the kernel tells.
        now: Seconds of a clock that never goes back.
        spent: CPU seconds of the calling thread so far: time in which others had the core costs nothing.
    """

    def __init__(
        self,
        notices: Notices,
        *,
        now: Callable[[], float] = runtime.now,
        spent: Callable[[], float] = time.thread_time,
    ) -> None:
        self._notices = notices
        self._now, self._spent = now, spent
        self._is_called = False
        self._due_at = now()

    def is_due(self) -> bool:
        """Say whether to walk now: something was noticed, or could have escaped notice for long enough."""
        self._is_called |= self._notices.heard()
        return self._is_called or not self._notices.is_complete or self._now() >= self._due_at

    def answer_call(self) -> bool:
        """Say whether something was noticed since this was last asked. What comes from now on asks for another walk."""
        is_called = self._notices.heard() or self._is_called
        self._is_called = False
        return is_called

    def walk(self, folder: Path, *, take_break: Callable[[], None]) -> Listing:
        """Walk, see `tree.walk`. The next one is due without a call when this one has been paid for."""
        began = self._spent()
        listing = walk(folder, take_break=take_break, watch=self._notices.watch)
        self._due_at = self._now() + (self._spent() - began) / SHARE
        return listing

    def call_again(self) -> None:
        """Have something unfinished looked at in the next round."""
        self._due_at = self._now()
