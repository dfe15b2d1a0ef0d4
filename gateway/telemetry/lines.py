"""Write lines to a stream from a thread of their own, so that a full pipe never holds up a request."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from typing import BinaryIO

_BATCH = 1024
"""Lines written in one go."""


class LineWriter:
    """Takes lines, and writes them in batches elsewhere.

    They come encoded: a thread that encodes would hold the interpreter for as long as all lines of a batch take, and
    requests would wait for it. The thread looks by itself every `flush_s` seconds: waking it for each line would cost
    the request more than the line.

    Args:
        stream: Where lines go; only this thread writes to it.
        capacity: Lines that may wait; one more is dropped and counted.
        flush_s: Seconds a line may wait before it is written.
    """

    def __init__(self, stream: BinaryIO, *, capacity: int = 16_384, flush_s: float = 0.05) -> None:
        self.dropped = 0
        """Lines lost to a full queue or a stream that broke."""
        self._stream: BinaryIO | None = stream
        self._capacity = capacity
        self._flush_s = flush_s
        self._waiting: deque[bytes] = deque()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lines", daemon=True)
        self._thread.start()

    def put(self, lines: Sequence[bytes]) -> None:
        """Queue lines, without their line feeds; those that find no room are dropped and counted."""
        room = 0 if self._closing.is_set() else max(self._capacity - len(self._waiting), 0)
        self.dropped += max(len(lines) - room, 0)
        self._waiting.extend(lines[:room])

    def close(self, timeout_s: float = 5.0) -> None:
        """Write what waits and stop. A stream that takes nothing is given up after `timeout_s` seconds."""
        self._closing.set()
        self._thread.join(timeout_s)

    def _run(self) -> None:
        while not self._closing.wait(self._flush_s):
            self._drain()
        self._drain()

    def _drain(self) -> None:
        while self._waiting:
            batch = [self._waiting.popleft() for _ in range(min(len(self._waiting), _BATCH))]
            self._write(b"\n".join([*batch, b""]), len(batch))

    def _write(self, text: bytes, lines: int) -> None:
        if self._stream is None:
            self.dropped += lines
            return
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            # The reader of our log is gone (broken pipe, closed file). Serving goes on; the count tells of it.
            self._stream = None
            self.dropped += lines
