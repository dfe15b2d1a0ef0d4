"""The moments of one exchange, and which of its time limits is over (http.md section 2.1)."""

from __future__ import annotations

from datetime import UTC, datetime

from contracts.terms import Timeouts


class Times:
    """Monotonic seconds; None where the moment has not come.

    Attributes:
        arrived_at: The request was complete.
        head_at: The worker's head was complete.
        last_read_at: The worker sent something, or the client made room for it.
        first_byte_at: The first byte of the answer went to the client.
        ended_at: The exchange ended; 0 before.
    """

    __slots__ = ("arrived_at", "ended_at", "first_byte_at", "head_at", "last_read_at")

    def __init__(self, arrived_at: float) -> None:
        self.arrived_at = arrived_at
        self.head_at: float | None = None
        self.last_read_at: float | None = None
        self.first_byte_at: float | None = None
        self.ended_at = 0.0

    def overdue(self, timeouts: Timeouts, now: float, *, sent_at: float, stream: bool) -> str | None:
        """Say which limit is over, None while none is; `sent_at`: the newest attempt was written."""
        if self.head_at is None:
            limit = timeouts.first_byte_stream_s if stream else timeouts.first_byte_s
            if now - sent_at > limit:
                return f"no answer within {limit:g} s"
        elif self.last_read_at is not None and now - self.last_read_at > timeouts.upstream_gap_s:
            return f"nothing more within {timeouts.upstream_gap_s:g} s"
        if not stream and now - self.arrived_at > timeouts.total_s:
            return f"no complete answer within {timeouts.total_s:g} s"
        return None

    def upstream_s(self, sent_at: float) -> float:
        """Seconds between the newest attempt and its end: the worker's share. `sent_at` 0: nothing was sent."""
        return self.ended_at - sent_at if sent_at else 0.0

    @property
    def first_byte_ms(self) -> float | None:
        """Milliseconds to the first byte of the answer."""
        return None if self.first_byte_at is None else milliseconds(self.first_byte_at - self.arrived_at)

    @property
    def duration_ms(self) -> float:
        """Milliseconds from the complete request to the last byte."""
        return milliseconds(self.ended_at - self.arrived_at)


def milliseconds(seconds: float) -> float:
    """Turn seconds that are not negative into milliseconds with three places."""
    return int(seconds * 1_000_000 + 0.5) / 1000


def utc(wall: float) -> datetime:
    """Turn wall-clock seconds into an aware moment."""
    return datetime.fromtimestamp(wall, UTC)
