"""How often Consul is read at the most: a bucket of tokens, pure."""

from __future__ import annotations

from dataclasses import dataclass

BURST = 2.0
PER_S = 1.0


@dataclass(frozen=True, slots=True)
class Pace:
    """A bucket that fills by `PER_S` tokens a second up to `BURST`.

    Attributes:
        tokens: How many there were.
        at: Monotonic second of that.
    """

    tokens: float = BURST
    at: float = 0.0

    def take(self, now: float) -> tuple[Pace, float]:
        """Take a token; give the bucket after it and the seconds until the token may be used."""
        tokens = min(BURST, self.tokens + max(0.0, now - self.at) * PER_S) - 1
        return Pace(tokens, max(now, self.at)), max(0.0, -tokens / PER_S)
