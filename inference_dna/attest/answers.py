"""Asks a running engine over HTTP. What it says is read strictly; what it does not have is None."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from inference_dna.canonical import Json, Refused, parse_json

_ABSENT = (404, 405, 501)
_MAX_BYTES = 16 * 1024 * 1024
TIMEOUT_S = 60.0
"""One token of a large model on a busy engine takes a while."""


class Silent(Refused):
    """The engine gave no answer, which says nothing of what it is."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where an engine listens: plain HTTP, host and port."""

    host: str
    port: int

    @classmethod
    def parse(cls, url: str) -> Address:
        """Read `http://HOST:PORT`.

        Raises:
            Refused: It is anything else.
        """
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            parts, port = urlsplit(""), None
        if parts.scheme != "http" or not parts.hostname or port is None or parts.path not in ("", "/"):
            raise Refused(f"{url!a} is no address of an engine; write http://HOST:PORT.")
        return cls(parts.hostname, port)


@dataclass(frozen=True, slots=True)
class Answers:
    """Asks one engine, a new connection for every question: what answered before may not be what answers now.

    `api_key` is sent where the engine wants one; it is shown nowhere.
    """

    address: Address
    timeout_s: float = TIMEOUT_S
    api_key: str | None = field(default=None, repr=False)

    def get(self, path: str) -> Json:
        """Ask for a page.

        Returns:
            Its document; None where the engine has no such page.

        Raises:
            Silent: It does not answer.
            Refused: It answers with a failure, or with something that is no JSON.
        """
        return self._asked("GET", path, None)

    def post(self, path: str, body: Mapping[str, Json]) -> Json:
        """As `get`, with a document."""
        return self._asked("POST", path, body)

    def _asked(self, method: str, path: str, body: Mapping[str, Json] | None) -> Json:
        status, content = self._exchange(method, path, body)
        if status in _ABSENT:
            return None
        if status != http.client.OK:
            told = content[:200].decode("utf-8", "replace")
            raise Refused(f"The engine answered {method} {path} with {status}: {told}")
        try:
            return parse_json(content)
        except Refused as refused:
            raise Refused(f"The engine's answer to {method} {path} cannot be read. {refused}") from refused

    def _exchange(self, method: str, path: str, body: Mapping[str, Json] | None) -> tuple[int, bytes]:
        payload = None if body is None else json.dumps(body).encode()
        headers = {} if payload is None else {"Content-Type": "application/json"}
        if self.api_key is not None:
            headers["Authorization"] = f"Bearer {self.api_key}"
        with closing(http.client.HTTPConnection(self.address.host, self.address.port, timeout=self.timeout_s)) as line:
            try:
                line.request(method, path, body=payload, headers=headers)
                answer = line.getresponse()
                content = answer.read(_MAX_BYTES + 1)
            except (OSError, http.client.HTTPException) as error:
                raise Silent(f"The engine does not answer {method} {path}: {error}.") from error
        if len(content) > _MAX_BYTES:
            raise Refused(f"The engine answered {method} {path} with more than {_MAX_BYTES} bytes.")
        return answer.status, content


def member(document: Json, *names: str) -> Json:
    """Follow names into a document; None where the way ends."""
    for name in names:
        if not isinstance(document, Mapping):
            return None
        document = document.get(name)
    return document
