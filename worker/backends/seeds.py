"""The seed of one request."""

from __future__ import annotations

import secrets

from worker.generation import Settings

_BITS = 63


def seed_of(settings: Settings) -> int:
    """Give the request's seed; one that nobody knows where it asks for none."""
    return secrets.randbits(_BITS) if settings.seed is None else settings.seed
