"""Steady traffic while something happens to the fleet."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from tools.demo.traffic import Answer, Asked, Client

SENDERS = 8


class Load:
    """What was answered under load so far."""

    def __init__(self) -> None:
        self._answers: list[Answer] = []
        self._is_over = False

    def take(self) -> list[Answer]:
        """Take the answers that came since the last time."""
        taken, self._answers = self._answers, []
        return taken

    async def _send(self, client: Client, requests: Sequence[Asked]) -> None:
        for asked in itertools.cycle(requests):
            if self._is_over:
                return
            self._answers.append(await client.ask(asked))

    def _end(self) -> None:
        self._is_over = True


@asynccontextmanager
async def under_load(client: Client, requests: Sequence[Asked]) -> AsyncIterator[Load]:
    """Keep several senders asking; on leaving, each finishes the request it has under way."""
    load = Load()
    senders = asyncio.gather(*(load._send(client, requests) for _ in range(SENDERS)))
    try:
        yield load
    finally:
        load._end()
        await senders
