"""Connections to one instance: the idle ones, last in first out.

Taking an idle connection never waits; a dial is the only thing in the upstream half that needs a task. What is dialled
is the literal address of the snapshot: names are resolved by the control plane (http.md section 4.1).
"""

from __future__ import annotations

import asyncio
import errno
import ssl
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from gateway.proxy.expiry import Expiry
from gateway.proxy.limits import Limits
from gateway.proxy.upstream import Failure, UpstreamConnection

_NEVER = float("inf")
_OURS = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EADDRNOTAVAIL})


@dataclass(frozen=True, slots=True)
class Address:
    """Where to dial.

    Attributes:
        literal: Address, never a name.
        port: Port.
        tls: Context where the worker speaks TLS.
        name: What its certificate must bear.
    """

    literal: str
    port: int
    tls: ssl.SSLContext | None = None
    name: str | None = None


class Pool:
    """Made when an instance is first asked; closed when it leaves the snapshot."""

    __slots__ = (
        "_address", "_closed", "_expiry", "_idle", "_limits", "_look_at", "_loop", "_now", "_open", "generation",
    )  # fmt: skip

    def __init__(
        self,
        address: Address,
        *,
        limits: Limits,
        loop: asyncio.AbstractEventLoop,
        now: Callable[[], float],
        expiry: Expiry,
    ) -> None:
        self._address = address
        self._limits = limits
        self._loop = loop
        self._now = now
        self._expiry = expiry
        self._look_at = _NEVER
        self._idle: deque[UpstreamConnection] = deque()
        self._open: set[UpstreamConnection] = set()
        self._closed = False
        self.generation = 0

    @property
    def open_count(self) -> int:
        """Connections open, idle ones included."""
        return len(self._open)

    @property
    def idle_count(self) -> int:
        """Connections that wait for a request."""
        return len(self._idle)

    def take(self) -> UpstreamConnection | None:
        """Take the youngest idle connection; None where a dial is needed. Never waits."""
        while self._idle:
            connection = self._idle.pop()
            if self._is_usable(connection):
                connection.reused = True
                return connection
            connection.abort()
        return None

    async def dial(self, *, timeout_s: float) -> UpstreamConnection:
        """Open a connection.

        Raises:
            TimeoutError: It did not come in time.
            OSError: It was refused, there is no way there, or it was closed as soon as it stood.
        """
        async with asyncio.timeout(timeout_s):
            _, connection = await self._loop.create_connection(
                lambda: UpstreamConnection(self, self._limits),  # type: ignore[type-var]
                self._address.literal,
                self._address.port,
                ssl=self._address.tls,
                server_hostname=self._address.name if self._address.tls is not None else None,
            )
        if connection.transport is None or connection.transport.is_closing():
            # Its end was told before anybody listened: a request written now would wait for an answer in vain.
            raise ConnectionResetError("the worker closed the connection at once")
        return connection

    # the connections' side ----------------------------------------------------------------------------------------

    def opened(self, connection: UpstreamConnection) -> None:
        """Count a connection."""
        self._open.add(connection)

    def give_back(self, connection: UpstreamConnection) -> None:
        """Keep a connection whose answer ended cleanly."""
        if self._closed or connection.generation != self.generation:
            connection.abort()
            return
        connection.usable_until = self._now() + connection.keep_for_s
        self._idle.append(connection)
        if connection.usable_until < self._look_at:
            self._look_again(connection.usable_until)

    def discard(self, connection: UpstreamConnection) -> None:
        """Forget a connection that is closed or closing."""
        self._open.discard(connection)
        if connection in self._idle:
            self._idle.remove(connection)

    # the data plane's side ----------------------------------------------------------------------------------------

    def drop_idle(self) -> None:
        """Trust no connection dialled so far: close the idle ones now, those in use when their exchange ends.

        One of its kind was stale, the worker started anew, or the instance may get no more requests.
        """
        self.generation += 1
        while self._idle:
            self._idle.pop().abort()

    def is_due(self, now: float) -> bool:
        """Say whether a connection may have been idle for too long."""
        return now >= self._look_at

    def expire(self) -> None:
        """Close what has been idle for longer than its worker is trusted to keep it."""
        for connection in [known for known in self._idle if not self._is_usable(known)]:
            connection.abort()
        self._look_at = _NEVER
        if self._idle:
            self._look_again(min([known.usable_until for known in self._idle]))

    def _look_again(self, at: float) -> None:
        self._look_at = at
        self._expiry.put(self, at)

    def close(self) -> None:
        """The instance left: idle connections close now, those in use when their exchange ends."""
        self._closed = True
        self.drop_idle()

    def _is_usable(self, connection: UpstreamConnection) -> bool:
        transport = connection.transport
        return transport is not None and not transport.is_closing() and self._now() < connection.usable_until


def dial_failure(error: OSError) -> Failure:
    """Say what kind of failure a dial ended with."""
    if error.errno in _OURS:
        return Failure.NO_SOCKET
    if isinstance(error, TimeoutError):
        return Failure.CONNECT_TIMEOUT
    return Failure.REFUSED if isinstance(error, ConnectionRefusedError) else Failure.UNREACHABLE
