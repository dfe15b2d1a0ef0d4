"""OpenAI's paths: `POST /v1/chat/completions`, `POST /v1/completions`, `GET /v1/models[/<id>]`."""

from __future__ import annotations

from functools import partial
from http import HTTPStatus

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from worker.asking import Asking, merged, read_asking
from worker.backend import TextBackend
from worker.fault import FieldFault
from worker.generation import Settings
from worker.problem import Problem
from worker.surface.chat import ChatAsking, ChatWriter
from worker.surface.completion import CompletionAsking, CompletionWriter
from worker.surface.openai_answer import Stated
from worker.surface.openai_asking import OpenAIAsking
from worker.surface.readable import add_readable
from worker.surface.surroundings import Surroundings
from worker.surface.text_answer import Question, TextAnswer

ASKINGS: dict[str, tuple[type[Asking], ...]] = {
    "/v1/chat/completions": (ChatAsking,),
    "/v1/completions": (CompletionAsking,),
}
"""What is asked where, for the description of the surface."""


class OpenAI:
    """The four handlers."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around

    def router(self) -> APIRouter:
        """The paths of this family."""
        router = APIRouter()
        router.add_api_route("/v1/chat/completions", self.chat, methods=["POST"], response_model=None)
        router.add_api_route("/v1/completions", self.complete, methods=["POST"], response_model=None)
        add_readable(router, "/v1/models", self.models)
        add_readable(router, "/v1/models/{model:path}", self.model)
        return router

    async def chat(self, request: Request) -> Response:
        """Say what comes next in a conversation."""
        backend = self._around.text()
        asking = await read_asking(request, ChatAsking)
        settings = self._settings(backend, asking)
        encode = partial(backend.encode_chat, [message.document() for message in asking.messages])
        writer = ChatWriter(self._stated("chatcmpl", asking))
        stream = writer if asking.stream else None
        return TextAnswer(self._around, Question(backend, settings, encode, "messages", writer.whole, stream))

    async def complete(self, request: Request) -> Response:
        """Continue a text."""
        backend = self._around.text()
        asking = await read_asking(request, CompletionAsking)
        settings = self._settings(backend, asking)
        encode = partial(backend.encode, asking.prompt)
        writer = CompletionWriter(self._stated("cmpl", asking))
        stream = writer if asking.stream else None
        return TextAnswer(self._around, Question(backend, settings, encode, "prompt", writer.whole, stream))

    async def models(self) -> Response:
        """List what there is: one model."""
        return JSONResponse({"object": "list", "data": [self._entry()]})

    async def model(self, model: str) -> Response:
        """Describe the model."""
        self._check(model)
        return JSONResponse(self._entry())

    def _settings(self, backend: TextBackend, asking: OpenAIAsking) -> Settings:
        self._check(asking.model)
        asking.check()
        return merged(backend, asking.settings(), asking.called())

    def _stated(self, kind: str, asking: OpenAIAsking) -> Stated:
        around = self._around
        return Stated(
            id=f"{kind}-{around.new_id()}",
            created=int(around.now_s()),
            model=around.served.model_id,
            digest=around.loaded().genome.digests.runtime,
            include_usage=asking.include_usage,
        )

    def _check(self, model: str) -> None:
        served = self._around.served.model_id
        if model != served:
            detail = f"This worker serves {served}, not {model}."
            fault = FieldFault("model", f"this worker serves {served}")
            raise Problem(HTTPStatus.NOT_FOUND, "model_not_found", detail, faults=[fault])

    def _entry(self) -> dict[str, object]:
        served = self._around.served
        # When a model was made is not known; the gateway says 0 as well.
        about = {"id": served.model_id, "object": "model", "created": 0, "owned_by": "dna-gateway"}
        return {**about, "version": served.version}
