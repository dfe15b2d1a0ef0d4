"""Which build of the gateway runs here: from its sources, or with the way of a request compiled (ADR 9)."""

from __future__ import annotations

from gateway.proxy import exchange


def is_compiled() -> bool:
    """Say whether the way of a request is compiled."""
    return not str(exchange.__file__).endswith(".py")
