"""Steady traffic through a gateway while something else goes wrong: so many requests a second, each answer checked.

What answered is told by what the worker itself stamped, never by a header of the gateway's alone.
"""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from tests.support.load import Outcome, fetch


@dataclass
class Traffic:
    """`with Traffic(port, {"v1.0.0": dna}) as traffic:`; afterwards look at what it got.

    Attributes:
        port: Data port of the gateway.
        expected: By version asked for: the first 8 hex of the DNA of the only runtime that may answer.
        model: The model asked for.
        per_s: Requests a second.
        answered: Right answers.
        failed: What went wrong, with the second since the start.
        wrong: Answers of another runtime or version than asked for.
    """

    port: int
    expected: Mapping[str, str]
    model: str = "m"
    per_s: float = 100.0
    answered: int = 0
    failed: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def __enter__(self) -> Self:
        self._stop = threading.Event()
        self._began = time.monotonic()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(60)
        assert not self._thread.is_alive(), "requests are still open"

    def assert_unharmed(self, *, at_least: int) -> None:
        """Every request was answered, by what was asked for."""
        assert self.wrong == []
        assert self.failed == []
        assert self.answered >= at_least

    async def _run(self) -> None:
        versions = itertools.cycle(self.expected)
        async with asyncio.TaskGroup() as group:
            for number in itertools.count():
                if self._stop.is_set():
                    return
                group.create_task(self._ask(next(versions)))
                await asyncio.sleep(max(0.0, self._began + (number + 1) / self.per_s - time.monotonic()))

    async def _ask(self, version: str) -> None:
        message = f"GET /ask HTTP/1.1\r\nHost: g\r\nX-Model-Id: {self.model}\r\nX-Model-Preference: {version}\r\n\r\n"
        outcome = await fetch(self.port, message.encode())
        at = f"{time.monotonic() - self._began:.2f} s: {version}"
        if outcome.status != 200:
            self.failed.append(f"{at}: {outcome.error or outcome.response}")
        elif not self._is_right(outcome, version):
            self.wrong.append(f"{at}: {outcome.response}")
        else:
            self.answered += 1

    def _is_right(self, outcome: Outcome, version: str) -> bool:
        assert outcome.response is not None
        dna = outcome.response.header("x-inference-dna") or ""
        return dna.startswith(self.expected[version]) and outcome.json["version"] == version
