"""One request as it was read: sound framing, our limits kept, nothing decided yet."""

from __future__ import annotations

from dataclasses import dataclass

Header = tuple[bytes, bytes, bytes]
"""Lower-case name, name as sent, value without surrounding blanks."""


@dataclass(slots=True)
class Request:
    """A request from its first byte to its last.

    `body` is empty until the message is complete. Header lines with `_` in their name are already gone.
    """

    method: str
    target: bytes
    version: str
    headers: list[Header]
    keep_alive: bool
    body: bytes = b""

    def one(self, name: bytes) -> bytes | None:
        """Give the value of the only line of that name; None where there is none, the first where several agree."""
        for lower, _, value in self.headers:
            if lower == name:
                return value
        return None

    def all(self, name: bytes) -> list[bytes]:
        """Give the values of every line of that name, in order."""
        return [value for lower, _, value in self.headers if lower == name]

    @property
    def path(self) -> str:
        """The target without its query, for logs and problem documents."""
        return self.target.partition(b"?")[0].decode("latin-1")


_ID_BYTES = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"


def own_id(request: Request) -> str | None:
    """Take the client's request id where it is well-formed, else none (clients.md section 2)."""
    value = request.one(b"x-request-id")
    if value is None or not 1 <= len(value) <= 128 or value.strip(_ID_BYTES):
        return None
    return value.decode("ascii")
