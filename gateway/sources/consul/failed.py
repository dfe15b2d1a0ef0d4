"""The one way a call of Consul fails."""

from __future__ import annotations

from enum import StrEnum


class FailureKind(StrEnum):
    """What went wrong; a label of the metric."""

    UNREACHABLE = "unreachable"
    TIMEOUT = "timeout"
    DENIED = "denied"
    """403: the token is unknown, or may not do this."""
    NO_LEADER = "no_leader"
    BUSY = "busy"
    """429, 503, or a connection reset at once: too many connections or calls."""
    SERVER = "server"
    MALFORMED = "malformed"
    TOO_LARGE = "too_large"
    REFUSED = "refused"
    """Any other 4xx: the call itself is wrong."""
    TOKEN = "token"  # noqa: S105 - a word, not a secret
    """The token file cannot be read."""
    UNUSABLE = "unusable"
    """The library under the name `consul` is the wrong one."""


class ConsulFailed(Exception):
    """A call failed; the message is a sentence without a secret in it.

    Args:
        kind: What went wrong.
        message: For people.
        status: Of the reply, where there was one.
    """

    def __init__(self, kind: FailureKind, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.status = status
