"""Stamps every answer of an ASGI application, serves `/healthz`, writes the log line, signs receipts.

    from inference_dna import guard
    from inference_dna.middleware import InferenceDNA

    app.add_middleware(InferenceDNA, standing=guard.require("manifest.json", worker, trust=["release.pem.pub"]))

Pure ASGI: nothing of an answer is collected, and a client that leaves is seen by the application. Around the whole
application (`app = InferenceDNA(app, standing)`) it stamps also the errors that a framework makes outside of its
middleware. What was fed to the model is said by the application: `told_tokens(request.scope, [ids])`; without that the
request's body is hashed, which is right for inputs that are no text.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from http import HTTPStatus

from inference_dna.canonical import Json, Refused
from inference_dna.inputs import hash_tokens
from inference_dna.serving.asgi import App, Message, Receive, Scope, Send, answer, raw
from inference_dna.serving.exchange import INPUT_HASH_KEY, LOG_KEY, Exchange, not_ready
from inference_dna.serving.receipt import ReceiptKey
from inference_dna.serving.stamp import Write, health_answer, write_line
from inference_dna.serving.standing import Standing

HEALTH_PATH = "/healthz"


class InferenceDNA:
    """An application around another one.

    Args:
        app: The application.
        standing: The worker's, as the guard gives it.
        receipts: The key that signs receipts; None signs none.
        health_path: Where health is asked; the application never sees these requests.
        always: Paths that are answered also before the worker is `ok`, then without stamps: they ask for no inference.
        write: Takes each log line; None writes to standard output.
    """

    def __init__(
        self,
        app: App,
        standing: Standing,
        *,
        receipts: ReceiptKey | None = None,
        health_path: str = HEALTH_PATH,
        always: Collection[str] = (),
        write: Write | None = None,
    ) -> None:
        self._app = app
        self._standing = standing
        self._receipts = receipts
        self._health_path = health_path
        self._always = frozenset(always)
        self._write = write or write_line

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection scope."""
        if scope["type"] == "websocket":
            await self._app(scope, receive, _stamping_accept(send, self._standing))
        elif scope["type"] != "http":
            await self._app(scope, receive, send)
        elif scope["path"] == self._health_path:
            await answer(send, *health_answer(self._standing, scope["method"]))
        else:
            await self._exchange(scope, receive, send)

    async def _exchange(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            exchange = Exchange(self._standing, scope, self._receipts, self._write)
        except Refused:
            if scope["path"] in self._always:
                await self._app(scope, receive, send)
            else:
                await answer(send, HTTPStatus.SERVICE_UNAVAILABLE, *not_ready(self._standing, scope["path"]))
        else:
            await exchange.run(self._app, receive, send)


def told_tokens(scope: Scope, sequences: Sequence[Sequence[int]]) -> str:
    """Say which token ids this request feeds to the model, before its answer begins.

    Args:
        scope: The connection scope: `request.scope` in FastAPI and Starlette.
        sequences: Ids with special tokens, without padding that only fills a batch.

    Returns:
        The input hash.

    Raises:
        Refused: No sequence at all, or an id that is no integer within int64.
    """
    return told_hash(scope, hash_tokens(sequences))


def told_hash(scope: Scope, input_hash: str) -> str:
    """As `told_tokens`, for inputs of other kinds (`inference_dna.inputs`)."""
    scope[INPUT_HASH_KEY] = input_hash
    return input_hash


def told_log(scope: Scope, **members: Json) -> None:
    """Leave members for the log line of this request, such as sampling parameters."""
    scope[LOG_KEY] = {**scope.get(LOG_KEY, {}), **members}


def _stamping_accept(send: Send, standing: Standing) -> Send:
    async def stamping(message: Message) -> None:
        if message["type"] == "websocket.accept":
            message = {**message, "headers": [*message.get("headers", []), *raw(standing.headers())]}
        await send(message)

    return stamping
