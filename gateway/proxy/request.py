"""One request as it was read: sound framing, our limits kept, nothing decided yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gateway.proxy.asking import HeadAsking
    from gateway.proxy.target import Target

Header = tuple[bytes, bytes, bytes]
"""Lower-case name, name as sent, value without surrounding blanks."""


class Facts:
    """What a head means beyond its lines, each worked out once by whoever needs it first.

    Requests of one connection that repeat a head byte for byte share it: most clients say the same over and over.
    """

    __slots__ = ("asking", "lines_for_worker", "own_id", "path", "target")

    def __init__(self) -> None:
        self.target: Target | None = None
        self.asking: HeadAsking | None = None
        self.lines_for_worker: bytes | None = None
        self.own_id: str | None = None
        self.path: str | None = None


class Request:
    """A request from its first byte to its last.

    `body` is empty until the message is complete. Header lines with `_` in their name are already gone.
    """

    __slots__ = ("body", "facts", "headers", "keep_alive", "method", "target", "version")

    def __init__(
        self,
        method: str,
        target: bytes,
        version: str,
        headers: list[Header],
        keep_alive: bool,
        body: bytes = b"",
        facts: Facts | None = None,
    ) -> None:
        self.method = method
        self.target = target
        self.version = version
        self.headers = headers
        self.keep_alive = keep_alive
        self.body = body
        self.facts = facts if facts is not None else Facts()

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
        path = self.facts.path
        if path is None:
            path = self.facts.path = self.target.partition(b"?")[0].decode("latin-1")
        return path


_ID_BYTES = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"


def own_id(request: Request) -> str | None:
    """Take the client's request id where it is well-formed, else none (clients.md section 2)."""
    facts = request.facts
    if facts.own_id is None:
        value = request.one(b"x-request-id") or b""
        facts.own_id = value.decode("ascii") if len(value) <= 128 and not value.strip(_ID_BYTES) else ""
    return facts.own_id or None
