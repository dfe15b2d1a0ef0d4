"""One request on a connection of its own: to see whether a proxy is up and does what it should before it is timed."""

from __future__ import annotations

import http.client
from dataclasses import dataclass

from bench.work import ANSWER_BYTES, PATH, request_body


@dataclass(frozen=True, slots=True)
class Answer:
    """Status 0 means that no answer came; header names in small letters."""

    status: int
    headers: dict[str, str]
    body: bytes


NOTHING = Answer(0, {}, b"")


def ask(
    port: int, path: str = PATH, *, method: str = "POST", body: bytes | None = None, timeout_s: float = 5
) -> Answer:
    """Send one request to a port of loopback; failures are `NOTHING`."""
    sent = request_body() if body is None and method == "POST" else body
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout_s)
    try:
        connection.request(method, path, sent, {"Content-Type": "application/json"})
        response = connection.getresponse()
        headers = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, headers, response.read())
    except (OSError, http.client.HTTPException):
        return NOTHING
    finally:
        connection.close()


def relays(port: int) -> bool:
    """Say whether the upstream's answer comes through; LiteLLM writes it anew, so its length may differ."""
    answer = ask(port)
    return answer.status == 200 and len(answer.body) >= ANSWER_BYTES - 60
