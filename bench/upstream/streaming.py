"""Starts the streaming upstream."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from bench.ask import ask
from bench.places import ROOT
from bench.processes import Running, free_port

START_S = 10.0


class StreamUpstream:
    """`with StreamUpstream(folder, cores=..., rate=50) as upstream:`; `rate` is events per second and stream."""

    def __init__(self, folder: Path, *, cores: Sequence[int], rate: float) -> None:
        self.port = free_port()
        command = [sys.executable, "-m", "bench.upstream.stream", "--port", str(self.port), "--rate", str(rate)]
        self._running = Running(command, cores=cores, log=folder / "stream-upstream.log", cwd=ROOT)

    def __enter__(self) -> Self:
        try:
            self._running.wait_until(self._answers, what="the streaming upstream", timeout_s=START_S)
        except BaseException:
            self._running.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._running.stop()

    @property
    def urls(self) -> tuple[str, ...]:
        """Base URLs."""
        return (f"http://127.0.0.1:{self.port}",)

    @property
    def pids(self) -> tuple[int, ...]:
        """Its processes."""
        return self._running.family

    def _answers(self) -> bool:
        return ask(self.port, "/healthz", method="GET").status == 200
