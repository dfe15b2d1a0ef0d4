"""What a client's bytes are read as, without a socket: requests and refusals, in order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from gateway.proxy.limits import Limits
from gateway.proxy.problem import Refused
from gateway.proxy.reader import RequestReader
from gateway.proxy.request import Request
from gateway.proxy.target import parse_target


@dataclass(frozen=True)
class Read:
    """One request that was accepted, or one refusal (`status` other than 200)."""

    status: int
    method: str = ""
    target: bytes = b""
    headers: tuple[tuple[bytes, bytes], ...] = ()
    body: bytes = b""
    keep_alive: bool = False
    detail: str = field(default="", compare=False)
    """For people; bytes with several faults may be told of another one."""


def read_all(segments: Iterable[bytes], *, limits: Limits | None = None, targets: bool = False) -> list[Read]:
    """Read segments as a connection does: one request at a time, nothing after a refusal or a request that closes.

    `targets`: also refuse what `parse_target` refuses.
    """
    reader = RequestReader(limits or Limits())
    found: list[Read] = []
    for segment in segments:
        data = segment
        while data:
            try:
                request = reader.feed(data)
                if request is not None and targets:
                    parse_target(request.target, request.one(b"host"))
            except Refused as refused:
                return [*found, Read(refused.problem.status, detail=refused.problem.detail)]
            if request is None:
                break
            found.append(_read(request))
            if not request.keep_alive:
                return found
            data, reader.rest = reader.rest, b""
    return found


def _read(request: Request) -> Read:
    headers = tuple((name, value) for name, _, value in request.headers)
    return Read(200, request.method, request.target, headers, request.body, request.keep_alive)


def byte_by_byte(data: bytes) -> list[bytes]:
    """Split into single bytes."""
    return [data[at : at + 1] for at in range(len(data))]
