"""Requests as a client sends them, and what came back."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx

CONCURRENCY = 16
TIMEOUT_S = 10.0
PATH = "/generate"


@dataclass(frozen=True, slots=True)
class Asked:
    """One request: a message to classify, and what is said about which version may answer."""

    text: str
    path: str = PATH
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back; `status` is 0 where no answer came, and `failure` says why."""

    asked: Asked
    status: int
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    failure: str = ""

    @property
    def dna(self) -> str:
        """The DNA that the worker stamped."""
        return self.headers.get("x-inference-dna", "")

    @property
    def request_id(self) -> str:
        """What the gateway's records call this request."""
        return self.headers.get("x-request-id", "")

    @property
    def attempts(self) -> str:
        """How many workers were asked."""
        return self.headers.get("x-route-attempts", "")


class Client:
    """`async with Client(url) as client:`; a bounded number of requests at a time."""

    def __init__(self, url: str, *, concurrency: int = CONCURRENCY) -> None:
        self._concurrency = concurrency
        # Proxy variables of the environment are for the internet, not for loopback.
        self._http = httpx.AsyncClient(
            base_url=url,
            trust_env=False,
            timeout=TIMEOUT_S,
            limits=httpx.Limits(max_connections=concurrency, max_keepalive_connections=concurrency),
        )

    async def __aenter__(self) -> Client:
        await self._http.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def ask(self, asked: Asked) -> Answer:
        """Send one request. A failure to get an answer is an answer too, of status 0."""
        try:
            response = await self._http.post(asked.path, json={"text": asked.text}, headers=dict(asked.headers))
            return Answer(asked, response.status_code, response.headers, _object(response))
        except httpx.TransportError as error:
            return Answer(asked, 0, {}, {}, f"{type(error).__name__}: {error}")

    async def ask_all(self, requests: Iterable[Asked]) -> list[Answer]:
        """Send them all, some at a time; answers come in the order in which they arrived."""
        waiting = iter(requests)
        answers: list[Answer] = []

        async def sender() -> None:
            for asked in waiting:
                answers.append(await self.ask(asked))  # noqa: PERF401 - each request waits for the one before

        async with asyncio.TaskGroup() as group:
            for _ in range(self._concurrency):
                group.create_task(sender())
        return answers

    async def get(self, path: str, **query: str) -> dict[str, Any]:
        """Read a JSON document."""
        response = await self._http.get(path, params=query)
        response.raise_for_status()
        document: dict[str, Any] = response.json()
        return document


def failed(answers: Sequence[Answer]) -> list[Answer]:
    """Those a client would call an error."""
    return [answer for answer in answers if answer.status != httpx.codes.OK]


def _object(response: httpx.Response) -> Mapping[str, Any]:
    try:
        body = response.json()
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}
