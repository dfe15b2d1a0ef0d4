"""Parameters that this worker does not carry, at the values at which they ask for nothing.

Clients send many of them unasked, so those values are taken; any other is refused, for it would not be obeyed.
"""

from __future__ import annotations

from pydantic import AfterValidator


def idle_at(*values: object) -> AfterValidator:
    """Take these values, and null, of a parameter; refuse all others."""

    def check(value: object) -> object:
        if value is not None and value not in values:
            raise ValueError("is not carried out by this worker; leave it out")
        return value

    return AfterValidator(check)
