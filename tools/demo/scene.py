"""What an act works with: the fleet, clients for both ports, and messages no model was trained on."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from tools.demo.fleet import Fleet
from tools.demo.standing import Standing
from tools.demo.traffic import Answer, Asked, Client
from tools.demo.worker import Worker
from worker.demo.dataset import Message, heldout_messages, read_dataset

RUNTIME_LENGTH = 8
"""Characters of a DNA that name the runtime; the rest names the input."""


@dataclass(frozen=True, slots=True)
class Scene:
    """Everything an act may touch.

    Attributes:
        fleet: The workers and the gateway.
        client: Asks the gateway as clients do.
        admin: Asks the gateway's other port as operators do.
        messages: Held-out customer messages with what their writers want.
        runtimes: The first 8 characters of the DNA of each runtime that was started, with what people call it: its
            version, or for a worker that is not honest its own name.
    """

    fleet: Fleet
    client: Client
    admin: Client
    messages: Sequence[Message]
    runtimes: Mapping[str, str]

    def texts(self, count: int) -> Iterator[str]:
        """Give so many messages, beginning again when they run out."""
        return (message.text for message in itertools.islice(itertools.cycle(self.messages), count))

    def requests(self, count: int, *, path: str = "/generate", **headers: str) -> list[Asked]:
        """Write so many requests that all say the same about the version."""
        return [Asked(text, path, headers) for text in self.texts(count)]

    def honest(self, version: str) -> Worker:
        """Give a worker that is what this version promises."""
        return next(one for one in self.fleet.workers if one.member.is_honest and one.member.version == version)

    async def standing(self, worker: Worker) -> Standing:
        """Ask the gateway what it thinks of a worker."""
        return next(standing for standing in await self.fleet.standings() if standing.url == worker.url)

    def runtime_of(self, answer: Answer) -> str:
        """Say which runtime wrote an answer, by the DNA that the worker measured and stamped."""
        first = answer.dna[:RUNTIME_LENGTH]
        return self.runtimes.get(first, f"unknown runtime {first!r}")


@asynccontextmanager
async def set_scene(fleet: Fleet) -> AsyncIterator[Scene]:
    """Open the clients and learn the runtimes from the workers themselves."""
    stated = {worker.member: await fleet.healthz(worker) for worker in fleet.workers}
    runtimes = {
        str(healthz["dna"])[:RUNTIME_LENGTH]: member.version if member.is_honest else member.name
        for member, healthz in stated.items()
    }
    async with Client(fleet.url) as client, Client(fleet.admin_url) as admin:
        yield Scene(fleet, client, admin, heldout_messages(read_dataset()), runtimes)
