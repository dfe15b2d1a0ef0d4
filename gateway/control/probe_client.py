"""Ask one worker for its health over HTTP, and turn every way this can fail into one of four words.

httpx's own timeouts are per read: a worker that trickles its head would hold a probe for ever. So each probe has a
deadline from outside, too. httpx 0.28 can lose a connection that is cut off so (encode/httpcore#1093); the client is
therefore replaced after a cut, and the old one closed when its last probe is done.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum

import httpx

from gateway.health.liveness import ProbeOutcome
from inference_dna.observation import NO_ANSWER, Observation

_OK = 200


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
        self._client: _Counted | None = None

    async def probe(self, url: str, *, at: Mapping[str, str] | None = None) -> Answer:
        """Ask `url` once. Never raises for what a worker or a network does.

        Args:
            url: What to ask.
            at: Literal addresses by host name: where to connect, whatever the name means to the resolver by now.
        """
        try:
            async with self._client_in_use() as client, asyncio.timeout(2 * self._timeout_s):
                return await self._ask(client, httpx.URL(url), at or {})
        except TimeoutError:
            self._client = None  # the next probe makes a new one
            return _failed(ProbeFailure.TIMEOUT, "the probe took too long as a whole")
        except httpx.TimeoutException as error:
            return _failed(ProbeFailure.TIMEOUT, f"{_words(error)} after {self._timeout_s:g} s")
        except httpx.HTTPError as error:
            if _was_refused(error):
                return Answer(ProbeOutcome.REFUSED, ProbeFailure.REFUSED, "connection refused", NO_ANSWER)
            return _failed(ProbeFailure.MALFORMED, f"{_words(error)}: {error}" if str(error) else _words(error))
        except Exception as error:  # noqa: BLE001 - a name or an answer the library chokes on fails its own probe only
            return _failed(ProbeFailure.MALFORMED, f"{_words(error)}: {error}")

    async def _ask(self, client: httpx.AsyncClient, url: httpx.URL, at: Mapping[str, str]) -> Answer:
        # `Host` and the name that a certificate must bear stay those of the URL.
        there, headers = url.copy_with(host=at.get(url.host, url.host)), {"host": url.netloc.decode()}
        async with client.stream("GET", there, headers=headers, extensions={"sni_hostname": url.host}) as response:
            body = bytearray()
            async for piece in response.aiter_raw():
                body += piece
                if len(body) > self._max_bytes:
                    return _failed(ProbeFailure.MALFORMED, f"the body is longer than {self._max_bytes} bytes")
        observation = Observation.from_healthz(response.status_code, response.headers.multi_items(), bytes(body))
        if response.status_code == _OK:
            return Answer(ProbeOutcome.OK, None, "", observation)
        detail = f"answered with status {response.status_code}"
        return Answer(ProbeOutcome.FAILED, ProbeFailure.STATUS, detail, observation)

    @asynccontextmanager
    async def _client_in_use(self) -> AsyncIterator[httpx.AsyncClient]:
        if self._client is None:
            self._client = _Counted(_make_client(self._timeout_s, self._tls))
        counted = self._client
        counted.users += 1
        try:
            yield counted.client
        finally:
            counted.users -= 1
            if counted is not self._client and not counted.users:
                await counted.client.aclose()

    async def close(self) -> None:
        """Close the client; no probe may be under way."""
        if self._client is not None:
            await self._client.client.aclose()
            self._client = None


@dataclass(slots=True)
class _Counted:
    client: httpx.AsyncClient
    users: int = 0


def _make_client(timeout_s: float, tls: ssl.SSLContext) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        verify=tls,
        timeout=timeout_s,
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=0),
        trust_env=False,
        follow_redirects=False,
        headers={"accept": "application/json", "accept-encoding": "identity", "user-agent": "dna-gateway"},
    )


def unreachable(detail: str) -> Answer:
    """Say that there was nowhere to send a probe to."""
    return _failed(ProbeFailure.MALFORMED, detail)


def _failed(failure: ProbeFailure, detail: str) -> Answer:
    return Answer(ProbeOutcome.FAILED, failure, detail, NO_ANSWER)


def _words(error: Exception) -> str:
    """Turn `ReadTimeout` into `read timeout`."""
    name = type(error).__name__
    return "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name).strip()


def _was_refused(error: BaseException) -> bool:
    """Say whether nothing listens there: every address that was tried refused."""
    return any(isinstance(cause, ConnectionRefusedError) for cause in _causes(error))


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        if isinstance(error, BaseExceptionGroup):
            for inner in error.exceptions:
                yield from _causes(inner)
        error = error.__cause__ or error.__context__
