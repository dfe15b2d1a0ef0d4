"""py-consul's requests over one httpx client; reading ends where a reply grows beyond its bound.

py-consul (package `py-consul`) and the dead python-consul share the import name `consul`; this is the only file that
imports it, and it refuses the dead one.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

import consul.base
import httpx
from consul.base import ConsulException as ConsulException

from gateway.sources.consul.address import ConsulAddress
from gateway.sources.consul.failed import ConsulFailed, FailureKind

T = TypeVar("T")

CONNECT_S = 5.0
ORDINARY_READ_S = 10.0
"""Seconds for an answer to a call that does not wait for a change."""
_SPARE_CONNECTIONS = 4
_SIGNS_OF_LIFE = (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 5),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 3),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3),
    (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 12_000),
)
"""A network that is cut without a word is noticed within 14 s, not only when a waiting read runs out of its 74 s.

Probes of the kernel (5 s, then 3 s apart) find it while a read waits; as long as something sent is not acknowledged the
kernel sends no probes, and then its own timeout, in milliseconds, ends the connection. The kernel of the other side
answers both, so a read may wait as long as it likes.
"""


@dataclass(frozen=True, slots=True)
class RawReply:
    """A reply as it came: status, headers without regard to case, body."""

    code: int
    headers: httpx.Headers
    body: bytes


class HttpxTransport(consul.base.HTTPClient):  # type: ignore[misc]  # py-consul carries no types
    """What py-consul asks through.

    Args:
        address: Where Consul is.
        max_bytes: Longest body that is read.
        waiting: Reads that wait for changes at one time; connections are that many and a few to spare.
    """

    def __init__(self, address: ConsulAddress, *, max_bytes: int, waiting: int) -> None:
        host = f"[{address.host}]" if ":" in address.host else address.host
        super().__init__(host, address.port, "https" if address.tls else "http")
        self._max_bytes = max_bytes
        self._server_name = address.tls.server_name if address.tls else None
        most = waiting + _SPARE_CONNECTIONS
        self._client = httpx.AsyncClient(
            transport=httpx.AsyncHTTPTransport(
                verify=address.tls.context() if address.tls else False,
                trust_env=False,
                limits=httpx.Limits(max_connections=most, max_keepalive_connections=most),
                socket_options=_SIGNS_OF_LIFE,
            ),
            trust_env=False,
            headers={"user-agent": "dna-gateway", "accept-encoding": "identity"},
        )

    async def get(  # noqa: D102 - py-consul's own contract
        self,
        callback: Callable[[RawReply], T],
        path: str,
        params: Sequence[tuple[str, Any]] | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        raw: bool = False,
        timeout_s: float | None = None,
    ) -> T:
        return callback(await self._send("GET", path, params, headers, timeout_s=timeout_s))

    async def put(  # noqa: D102
        self,
        callback: Callable[[RawReply], T],
        path: str,
        params: Sequence[tuple[str, Any]] | None = None,
        data: str | bytes = "",
        headers: Mapping[str, str] | None = None,
    ) -> T:
        return callback(await self._send("PUT", path, params, headers, data=data))

    async def post(  # noqa: D102
        self,
        callback: Callable[[RawReply], T],
        path: str,
        params: Sequence[tuple[str, Any]] | None = None,
        data: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> T:
        return callback(await self._send("POST", path, params, headers, data=data))

    async def delete(  # noqa: D102
        self,
        callback: Callable[[RawReply], T],
        path: str,
        params: Sequence[tuple[str, Any]] | None = None,
        data: str | bytes = "",
        headers: Mapping[str, str] | None = None,
    ) -> T:
        return callback(await self._send("DELETE", path, params, headers, data=data))

    async def close(self) -> None:  # noqa: D102
        with suppress(httpx.HTTPError):
            await self._client.aclose()

    async def _send(
        self,
        method: str,
        path: str,
        params: Sequence[tuple[str, Any]] | None,
        headers: Mapping[str, str] | None,
        *,
        data: str | bytes = b"",
        timeout_s: float | None = None,
    ) -> RawReply:
        timeout = httpx.Timeout(timeout_s or ORDINARY_READ_S, connect=CONNECT_S, pool=CONNECT_S)
        request = self._client.build_request(
            method,
            self.uri(path, list(params or ())),
            headers=dict(headers or {}),
            content=data,
            timeout=timeout,
            extensions={"sni_hostname": self._server_name} if self._server_name else {},
        )
        response = await self._client.send(request, stream=True)
        try:
            body = bytearray()
            async for piece in response.aiter_raw():
                body += piece
                if len(body) > self._max_bytes:
                    raise ConsulFailed(FailureKind.TOO_LARGE, f"Consul's reply has more than {self._max_bytes} bytes")
        finally:
            await response.aclose()
        return RawReply(response.status_code, response.headers, bytes(body))


class ConsulCalls(consul.base.Consul):  # type: ignore[misc]
    """py-consul's client over our transport. Tokens go with each call, never with the client."""

    def __init__(self, transport: HttpxTransport) -> None:
        self._transport = transport
        super().__init__(host=transport.host, port=transport.port, scheme=transport.scheme, verify=True)
        self.token = None  # py-consul lets CONSUL_HTTP_TOKEN of the environment beat what it is told

    def http_connect(self, *_: object, **__: object) -> HttpxTransport:
        """Give the transport; py-consul asks once."""
        return self._transport


def refuse_the_dead_one() -> None:
    """Refuse python-consul under the name of py-consul.

    Raises:
        ConsulFailed: It is what `import consul` found.
    """
    if not hasattr(consul.base.Consul, "prepare_headers"):
        raise ConsulFailed(
            FailureKind.UNUSABLE,
            "the package python-consul is installed and takes the place of py-consul;"
            " run: pip uninstall python-consul py-consul && pip install py-consul",
        )
