"""Write lines to a stream from a thread of their own, so that a full pipe never holds up a request."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any, BinaryIO, TypeVar

Value = TypeVar("Value")

_BATCH = 64
"""Lines encoded in one go: the interpreter is held that long, and requests wait."""


class LineWriter:
    """Takes values and their encoders, encodes and writes them in batches elsewhere.

    Putting a line costs an append. The thread looks by itself every `flush_s` seconds: waking it for each line would
    cost the request more than the line.

    Args:
        stream: Where lines go; only this thread writes to it.
        capacity: Lines that may wait; one more is dropped and counted.
        flush_s: Seconds a line may wait before it is written.
    """

    def __init__(self, stream: BinaryIO, *, capacity: int = 16_384, flush_s: float = 0.05) -> None:
        self.dropped = 0
        """Lines lost to a full queue, a stream that broke, or a value that could not be encoded."""
        self._stream: BinaryIO | None = stream
        self._capacity = capacity
        self._flush_s = flush_s
        self._waiting: deque[tuple[Callable[[Any], bytes], Any]] = deque()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lines", daemon=True)
        self._thread.start()

    def put(self, encode: Callable[[Value], bytes], value: Value) -> None:
        """Queue one line; `encode` is called in the thread and gives the line without its line feed."""
        if len(self._waiting) >= self._capacity or self._closing.is_set():
            self.dropped += 1
            return
        self._waiting.append((encode, value))

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
            lines = [line for encode, value in batch if (line := self._encoded(encode, value)) is not None]
            self._write(b"".join(lines), len(lines))

    def _encoded(self, encode: Callable[[Any], bytes], value: Any) -> bytes | None:
        try:
            return encode(value) + b"\n"
        except Exception:  # noqa: BLE001 - one line that cannot be encoded must not end the log; the count tells of it
            self.dropped += 1
            return None

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
