"""`POST /generate` and `POST /generate_stream`: a classifier's label, or a language model's text."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from functools import partial

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from inference_dna.headers import INPUT_HASH
from worker.answering import GenerateWriter, answer_document, events
from worker.asking import Asking, ClassifyAsking, GenerateAsking, check_model, merged, read_asking
from worker.backend import ClassifierBackend, Inference
from worker.surface.events import MEDIA_TYPE
from worker.surface.surroundings import Surroundings
from worker.surface.text_answer import Question, TextAnswer

ASKINGS: dict[str, tuple[type[Asking], ...]] = {
    "/generate": (ClassifyAsking, GenerateAsking),
    "/generate_stream": (ClassifyAsking, GenerateAsking),
}
"""What is asked where, for the description of the surface."""


class Generate:
    """The two handlers."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around

    def router(self) -> APIRouter:
        """The paths of this family."""
        router = APIRouter()
        router.add_api_route("/generate", self.generate, methods=["POST"], response_model=None)
        router.add_api_route("/generate_stream", self.generate_stream, methods=["POST"], response_model=None)
        return router

    async def generate(self, request: Request) -> Response:
        """Answer one text."""
        classifier = self._around.classifier()
        if classifier is None:
            return await self._generated(request, is_stream=False)
        inference = await self._classified(classifier, request, self._around.delay_s)
        document = answer_document(inference.answer, classifier.names, self._around.served)
        return JSONResponse(document, headers={INPUT_HASH: inference.input_hash})

    async def generate_stream(self, request: Request) -> Response:
        """Answer one text as server-sent events."""
        classifier = self._around.classifier()
        if classifier is None:
            return await self._generated(request, is_stream=True)
        inference = await self._classified(classifier, request)
        parts = events(inference.answer, classifier.names, self._around.served)
        headers = {INPUT_HASH: inference.input_hash, "Cache-Control": "no-store"}
        return StreamingResponse(_paced(parts, self._around.delay_s), headers=headers, media_type=MEDIA_TYPE)

    async def _classified(self, classifier: ClassifierBackend, request: Request, delay_s: float = 0.0) -> Inference:
        """Classify in a thread. The place is held through the delay, so that a slow worker fills up like a real one."""
        asking = await read_asking(request, ClassifyAsking)
        check_model(asking.model, self._around.served.model_id)
        with self._around.lane.place():
            (inference,) = await self._around.lane.run(partial(classifier.classify, [asking.text]))
            await asyncio.sleep(delay_s)
        return inference

    async def _generated(self, request: Request, *, is_stream: bool) -> Response:
        backend = self._around.text()
        asking = await read_asking(request, GenerateAsking)
        check_model(asking.model, self._around.served.model_id)
        settings = merged(backend, asking.settings(), {})
        encode, writer = partial(backend.encode, asking.text), GenerateWriter(self._around.served)
        question = Question(backend, settings, encode, "text", writer.whole, writer if is_stream else None)
        return TextAnswer(self._around, question)


async def _paced(parts: Iterator[bytes], delay_s: float) -> AsyncIterator[bytes]:
    for part in parts:
        # Even without a delay the loop gets to write each event before the next is made.
        await asyncio.sleep(delay_s)
        yield part
