"""Ask one worker for its health over HTTP, and turn every way this can fail into one of four words.

Each probe has a connection of its own, read by h11 and nothing above it: httpx took 1.5 ms of computing for a probe, a
third of the core for the two hundred a second that a thousand instances ask for.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar
from urllib.parse import SplitResult, urlsplit

import h11

from gateway.health.liveness import ProbeOutcome
from inference_dna.observation import NO_ANSWER, Observation

Done = TypeVar("Done")
_OK = 200
_HEADERS = (
    ("Accept", "application/json"),
    ("Accept-Encoding", "identity"),
    ("User-Agent", "dna-gateway"),
    ("Connection", "close"),
)
_READ = 64 * 1024
_MAX_HEAD = 100 * 1024


class ProbeFailure(StrEnum):
    """Why a probe failed; a label of the metric."""

    REFUSED = "refused"
    TIMEOUT = "timeout"
    STATUS = "status"
    MALFORMED = "malformed"


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a probe.

    Attributes:
        outcome: As liveness sees it.
        failure: Why it failed; None where it passed.
        detail: What went wrong, in words.
        observation: What the worker stated; `NO_ANSWER` where nothing usable came.
    """

    outcome: ProbeOutcome
    failure: ProbeFailure | None
    detail: str
    observation: Observation


class ProbeClient:
    """Sends probes, each over a connection of its own.

    Args:
        timeout_s: Seconds for connecting and for each read; twice as long for the whole probe.
        max_bytes: Largest body that is read.
        tls: Checks certificates.
    """

    def __init__(
        self, *, timeout_s: float = 2.0, max_bytes: int = 256 * 1024, tls: ssl.SSLContext | None = None
    ) -> None:
        self._tls = tls if tls is not None else ssl.create_default_context()
        self._timeout_s = timeout_s
        self._max_bytes = max_bytes

    async def probe(self, url: str, *, at: Mapping[str, str] | None = None) -> Answer:
        """Ask `url` once. Never raises for what a worker or a network does.

        Args:
            url: What to ask.
            at: Literal addresses by host name: where to connect, whatever the name means to the resolver by now.
        """
        try:
            async with asyncio.timeout(2 * self._timeout_s):
                return await self._ask(urlsplit(url), at or {})
        except _Slow as error:
            return _failed(ProbeFailure.TIMEOUT, f"{error} after {self._timeout_s:g} s")
        except TimeoutError:
            return _failed(ProbeFailure.TIMEOUT, "the probe took too long as a whole")
        except ConnectionRefusedError:
            return Answer(ProbeOutcome.REFUSED, ProbeFailure.REFUSED, "connection refused", NO_ANSWER)
        except Exception as error:  # noqa: BLE001 - a name or an answer a library chokes on fails its own probe only
            return _failed(ProbeFailure.MALFORMED, _words(error))

    async def _ask(self, url: SplitResult, at: Mapping[str, str]) -> Answer:
        # `Host` and the name that a certificate must bear stay those of the URL.
        name = url.hostname or ""
        tls = self._tls if url.scheme == "https" else None
        port = url.port or (80 if tls is None else 443)
        opening = asyncio.open_connection(at.get(name, name), port, ssl=tls, server_hostname=name if tls else None)
        reader, writer = await self._in_time(opening, "connect timeout")
        try:
            parser = h11.Connection(h11.CLIENT, max_incomplete_event_size=_MAX_HEAD)
            headers = [("Host", url.netloc), *_HEADERS]
            asked = h11.Request(method="GET", target=url.path or "/", headers=headers)
            writer.write((parser.send(asked) or b"") + (parser.send(h11.EndOfMessage()) or b""))
            return await self._answer(parser, reader)
        finally:
            writer.transport.abort()

    async def _answer(self, parser: h11.Connection, reader: asyncio.StreamReader) -> Answer:
        head: h11.Response | None = None
        body = bytearray()
        while True:
            event = parser.next_event()
            if event is h11.NEED_DATA:
                parser.receive_data(await self._in_time(reader.read(_READ), "read timeout"))
            elif isinstance(event, h11.Response):
                head = event
            elif isinstance(event, h11.Data):
                body += event.data
                if len(body) > self._max_bytes:
                    return _failed(ProbeFailure.MALFORMED, f"the body is longer than {self._max_bytes} bytes")
            elif isinstance(event, h11.EndOfMessage) and head is not None:
                return _answer_of(head, bytes(body))

    async def _in_time(self, step: Awaitable[Done], slow: str) -> Done:
        """Wait for one step; the time of the whole probe is watched outside.

        Raises:
            _Slow: It did not come in time.
        """
        try:
            async with asyncio.timeout(self._timeout_s):
                return await step
        except TimeoutError:
            raise _Slow(slow) from None


class _Slow(Exception):
    """A step that took too long, in words."""


def _answer_of(head: h11.Response, body: bytes) -> Answer:
    headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in head.headers]
    observation = Observation.from_healthz(head.status_code, headers, body)
    if head.status_code == _OK:
        return Answer(ProbeOutcome.OK, None, "", observation)
    detail = f"answered with status {head.status_code}"
    return Answer(ProbeOutcome.FAILED, ProbeFailure.STATUS, detail, observation)


def unreachable(detail: str) -> Answer:
    """Say that there was nowhere to send a probe to."""
    return _failed(ProbeFailure.MALFORMED, detail)


def _failed(failure: ProbeFailure, detail: str) -> Answer:
    return Answer(ProbeOutcome.FAILED, failure, detail, NO_ANSWER)


def _words(error: Exception) -> str:
    """Say what the system said, or name a library's error: `RemoteProtocolError` becomes `remote protocol error`."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror[:1].lower() + error.strerror[1:]
    name = type(error).__name__
    spaced = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name).strip()
    return f"{spaced}: {error}" if str(error) else spaced
