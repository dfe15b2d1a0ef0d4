"""The moments of one exchange, and which of its time limits is over (http.md section 2.1)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from contracts.terms import Timeouts


@dataclass(slots=True)
class Times:
    """Monotonic seconds; None where the moment has not come."""

    arrived_at: float
    """The request was complete."""
    head_at: float | None = None
    last_read_at: float | None = None
    """The worker sent something, or the client made room for it."""
    first_byte_at: float | None = None
    ended_at: float = 0.0

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
        return None if self.first_byte_at is None else round((self.first_byte_at - self.arrived_at) * 1000, 3)

    @property
    def duration_ms(self) -> float:
        """Milliseconds from the complete request to the last byte."""
        return round((self.ended_at - self.arrived_at) * 1000, 3)


def utc(wall: float) -> datetime:
    """Turn wall-clock seconds into an aware moment."""
    return datetime.fromtimestamp(wall, UTC)
