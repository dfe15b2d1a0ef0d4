"""What ASGI applications are made of (ASGI 3, HTTP and WebSocket), and how a short answer is sent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from http import HTTPStatus
from typing import Any, TypeAlias

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]
RawHeaders: TypeAlias = list[tuple[bytes, bytes]]


def raw(headers: Iterable[tuple[str, str]]) -> RawHeaders:
    """Write headers as ASGI carries them; names are in small letters already."""
    return [(name.encode(), value.encode()) for name, value in headers]


def first_value(headers: Iterable[tuple[bytes, bytes]], name: str) -> str | None:
    """Find the first value of a header; names as ASGI gives them, in small letters, or as applications write them."""
    wanted = name.encode()
    return next((value.decode("latin-1") for each, value in headers if each.lower() == wanted), None)


async def answer(send: Send, status: HTTPStatus, headers: Iterable[tuple[str, str]], body: bytes) -> None:
    """Send a whole answer."""
    await send({"type": "http.response.start", "status": status.value, "headers": raw(headers)})
    await send({"type": "http.response.body", "body": body, "more_body": False})
