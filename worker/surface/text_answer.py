"""One answer of a language model, from the prompt to its last byte; every way to end passes `_generating`, once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from threading import Event

from starlette.responses import JSONResponse, Response
from starlette.types import Message, Receive, Scope, Send

from inference_dna.middleware import told_tokens
from worker.backend import TextBackend
from worker.generation import Ended, GenerationRequest, Settings, Token, fit
from worker.problem import problem_of
from worker.surface.departure import until_client_leaves
from worker.surface.events import MEDIA_TYPE, error_event
from worker.surface.surroundings import Surroundings
from worker.surface.writer import StreamWriter, WriteWhole

_HEADERS = [(b"content-type", f"{MEDIA_TYPE}; charset=utf-8".encode()), (b"cache-control", b"no-store")]


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of the model, and how the answer is written.

    Attributes:
        backend: The model.
        settings: Of this one answer.
        encode: Gives the prompt's ids; it may refuse.
        field: The request's field that holds the prompt.
        write_whole: Writes the answer where it is to come whole.
        stream: Writes it piece by piece; None where it is to come whole.
    """

    backend: TextBackend
    settings: Settings
    encode: Callable[[], tuple[int, ...]]
    field: str
    write_whole: WriteWhole
    stream: StreamWriter | None = None

    def prepare(self) -> GenerationRequest:
        """Put it in the model's own terms; it takes a while.

        Raises:
            RequestRefused: The prompt cannot be used.
        """
        return fit(self.encode(), self.settings, context=self.backend.context, field=self.field)


class Stalled(Exception):
    """The client is there and takes nothing."""


class TextAnswer(Response):
    """Generates while it is sent. A client that leaves ends the generation within one token, stream or not."""

    def __init__(self, around: Surroundings, question: Question) -> None:
        self._around, self._lane = around, around.lane
        self._question = question
        self.background = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer. What fails before the first byte is raised, and becomes an error with a status of its own."""
        writer = self._question.stream
        answer = (
            self._answer_whole(scope, receive, send) if writer is None else self._answer_stream(writer, scope, send)
        )
        with suppress(Stalled):
            await until_client_leaves(receive, answer)

    async def _answer_whole(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._generating(scope) as items:
            document = await self._collect(items)
        await JSONResponse(document)(scope, receive, send)

    async def _answer_stream(self, writer: StreamWriter, scope: Scope, send: Send) -> None:
        async with self._generating(scope) as items:
            # Whatever fails up to the first token still has a status of its own.
            first = await anext(items)
            await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
            try:
                last = await self._send_events(writer, first, items, send)
            except Stalled:
                raise
            except Exception as error:
                # The missing last chunk says that the answer is not whole, this event says why (clients.md section 5).
                await self._send_piece(send, error_event(problem_of(error), scope["path"]))
                raise
        await self._send_piece(send, last, is_last=True)

    @asynccontextmanager
    async def _generating(self, scope: Scope) -> AsyncIterator[AsyncIterator[Token | Ended]]:
        """Hold a place and a turn; both are free again before a client can know that its answer is whole."""
        with self._lane.place():
            request = await self._lane.run(self._question.prepare)
            told_tokens(scope, [request.token_ids])
            async with self._lane.turn(), aclosing(self._generated(request)) as items:
                yield items

    async def _generated(self, request: GenerationRequest) -> AsyncGenerator[Token | Ended]:
        left = Event()
        items = self._question.backend.generate(request, left.is_set)
        try:
            while (item := await self._lane.run(partial(next, items, None))) is not None:
                yield item
        finally:
            left.set()
            # Asked once more, it says that it was cancelled, and lets go of all it held.
            await self._lane.run(partial(_exhaust, items))

    async def _collect(self, items: AsyncIterator[Token | Ended]) -> dict[str, object]:
        texts: list[str] = []
        async for item in items:
            if isinstance(item, Ended):
                await asyncio.sleep(self._around.delay_s)
                return self._question.write_whole("".join(texts), item)
            texts.append(item.text)
        raise RuntimeError("A generation ended without saying how.")

    async def _send_events(
        self, writer: StreamWriter, first: Token | Ended, items: AsyncIterator[Token | Ended], send: Send
    ) -> bytes:
        """Send all events but the last ones, and give those."""
        await self._send_event(send, writer.opening())
        texts: list[str] = []
        item = first
        while isinstance(item, Token):
            texts.append(item.text)
            if item.text:
                await self._send_event(send, writer.piece(item))
            item = await anext(items)
        await asyncio.sleep(self._around.delay_s)
        return writer.closing("".join(texts), item)

    async def _send_event(self, send: Send, event: bytes) -> None:
        if event:
            await asyncio.sleep(self._around.delay_s)
            await self._send_piece(send, event)

    async def _send_piece(self, send: Send, piece: bytes, *, is_last: bool = False) -> None:
        message: Message = {"type": "http.response.body", "body": piece, "more_body": not is_last}
        try:
            async with asyncio.timeout(self._around.stalled_s):
                await send(message)
        except TimeoutError as error:
            raise Stalled from error


def _exhaust(items: Iterator[Token | Ended]) -> None:
    for _ in items:
        pass
