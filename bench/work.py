"""The work that every proxy carries: one request, one answer, one streamed event.

An OpenAI chat completion, because the inference routers and LiteLLM relay nothing else; to the other proxies it is
130 bytes that go up and 260 that come down.
"""

from __future__ import annotations

PATH = "/v1/chat/completions"
MODEL = "bench"
VERSION = "v2.4.0"
DEFAULT_SELECTOR = "^2.4"
REQUEST_BYTES = 130
ANSWER_BYTES = 260
EVENT_BYTES = 60

_FILLER = "abcdefgh "


def request_body(model: str = MODEL, *, stream: bool = False) -> bytes:
    """One request, `REQUEST_BYTES` long; a streaming one, or one for a longer model id, may be longer."""
    member = ',"stream":true' if stream else ""
    head = f'{{"model":"{model}"{member},"messages":[{{"role":"user","content":"'
    return _padded(head, '"}]}', REQUEST_BYTES)


def request_message(body: bytes) -> bytes:
    """The request as it goes over the wire."""
    lines = (
        f"POST {PATH} HTTP/1.1",
        "Host: 127.0.0.1",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
    )
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def answer_body() -> bytes:
    """What the upstream answers, `ANSWER_BYTES` long."""
    head = (
        f'{{"id":"c-1","object":"chat.completion","created":1700000000,"model":"{MODEL}","choices":[{{"index":0,'
        '"message":{"role":"assistant","content":"'
    )
    tail = '"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":9,"total_tokens":18}}'
    return _padded(head, tail, ANSWER_BYTES)


def event() -> bytes:
    """One streamed event with its blank line, `EVENT_BYTES` long."""
    return _padded('data: {"choices":[{"index":0,"delta":{"content":"', '"}}]}\n\n', EVENT_BYTES)


def _padded(head: str, tail: str, size: int) -> bytes:
    room = max(size - len(head) - len(tail), 1)
    filler = (_FILLER * (room // len(_FILLER) + 1))[:room]
    return (head + filler + tail).encode()
