"""Write lines to a stream from a thread of their own, so that a full pipe never holds up a request."""

from __future__ import annotations

import threading
from collections import deque
from typing import BinaryIO

_PIECE = 48 * 1024
"""Bytes written in one go, and the rest of the last lines that were put together. What is larger than twice this comes
page by page from the system each time (`process.give_memory_back`)."""
_BUSY = 5
"""While lines keep coming the thread looks so many times as often. What a twentieth of a second brings under load takes
most of a millisecond to write in one go, and where there is one core requests wait for that: one in a hundred did."""


class LineWriter:
    """Takes lines, and writes them in batches elsewhere.

    They come encoded: a thread that encodes would hold the interpreter for as long as all lines of a batch take, and
    requests would wait for it. The thread looks by itself, at least every `flush_s` seconds: waking it for each line
    would cost the request more than the line. Lines that were put together stay together, and are never looked at one
    by one.

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
        self._waiting: deque[tuple[bytes, int]] = deque()
        self._held = 0
        """Lines in `_waiting`; both change together, under the lock."""
        self._lock = threading.RLock()  # what is logged while it is held, such as by a finalizer, must not wait for it
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lines", daemon=True)
        self._thread.start()

    def put(self, text: bytes, lines: int = 1) -> None:
        """Queue so many whole lines, each with its line feed; those that find no room are dropped and counted."""
        with self._lock:
            room = 0 if self._closing.is_set() else max(self._capacity - self._held, 0)
            if lines > room:
                self.dropped += lines - room
                text, lines = b"".join(text.splitlines(keepends=True)[:room]), room
            if lines:
                self._waiting.append((text, lines))
                self._held += lines

    def close(self, timeout_s: float = 5.0) -> None:
        """Write what waits and stop. A stream that takes nothing is given up after `timeout_s` seconds."""
        self._closing.set()
        self._thread.join(timeout_s)

    def _run(self) -> None:
        pause_s = self._flush_s
        while not self._closing.wait(pause_s):
            pause_s = self._flush_s / _BUSY if self._drain() else self._flush_s
        self._drain()

    def _drain(self) -> bool:
        """Write everything that waits; say whether there was anything."""
        was_busy = bool(self._waiting)
        while self._waiting:
            texts, lines = self._take()
            self._write(b"".join(texts), lines)
        return was_busy

    def _take(self) -> tuple[list[bytes], int]:
        """Take what is written next, and say how many lines that is."""
        texts, size, taken = [], 0, 0
        with self._lock:
            while self._waiting and size < _PIECE:
                text, lines = self._waiting.popleft()
                texts.append(text)
                size += len(text)
                taken += lines
            self._held -= taken
        return texts, taken

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
