"""Open Inference Protocol v2 below `/v2`, with Triton's generate extension."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from http import HTTPStatus

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from inference_dna.middleware import told_hash
from inference_dna.semver import read_version
from worker.asking import Asking, merged, parse_asking, read_asking, read_body
from worker.backend import ClassifierBackend
from worker.fault import FieldFault, RequestRefused
from worker.problem import Problem
from worker.surface.binary_tensors import DATA_FIELD, JSON_LENGTH, split_body
from worker.surface.readable import add_readable
from worker.surface.surroundings import Surroundings
from worker.surface.tensors import (
    CLASSIFIER_OUTPUTS,
    TEXT_OUTPUTS,
    InferAsking,
    Named,
    TritonAsking,
    TritonWriter,
    classified,
    described,
    inferred,
)
from worker.surface.text_answer import Question, TextAnswer
from worker.surface.writer import StreamWriter, WriteWhole

LIVE = "/v2/health/live"
"""Answered at any time, also while nothing is loaded."""

_MODEL = "/v2/models/{model:path}"
_VERSION = f"{_MODEL}/versions/{{version}}"

ASKINGS: dict[str, tuple[type[Asking], ...]] = {
    f"{base}/{action}": (asking,)
    for base in (_MODEL, _VERSION)
    for action, asking in (("infer", InferAsking), ("generate", TritonAsking), ("generate_stream", TritonAsking))
}
"""What is asked where, for the description of the surface."""


class InferenceProtocol:
    """The handlers. A request comes here only where the worker is `ok`, but for `LIVE`."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around

    def router(self) -> APIRouter:
        """The paths of this family; those with more in them come first, for a model's name may have slashes."""
        router = APIRouter()
        add_readable(router, "/v2", self.server)
        add_readable(router, LIVE, self.live)
        add_readable(router, "/v2/health/ready", self.ready)
        actions = {"infer": self.infer, "generate": self.generate, "generate_stream": self.generate_stream}
        for base in (_VERSION, _MODEL):
            for action, handler in actions.items():
                router.add_api_route(f"{base}/{action}", handler, methods=["POST"], response_model=None)
            add_readable(router, f"{base}/ready", self.model_ready)
            add_readable(router, base, self.model)
        return router

    async def server(self) -> Response:
        """Describe the server."""
        return JSONResponse({"name": "dna-worker", "version": "2", "extensions": ["generate", "binary_tensor_data"]})

    async def live(self) -> Response:
        """Say that the process runs."""
        return JSONResponse({"live": True})

    async def ready(self) -> Response:
        """Say that the worker answers."""
        return JSONResponse({"ready": True})

    async def model_ready(self, request: Request) -> Response:
        """Say that the model answers."""
        self._check(request)
        return JSONResponse({"name": self._around.served.model_id, "ready": True})

    async def model(self, request: Request) -> Response:
        """Describe the model."""
        self._check(request)
        outputs = TEXT_OUTPUTS if self._around.classifier() is None else CLASSIFIER_OUTPUTS
        return JSONResponse(described(self._around.served, outputs))

    async def infer(self, request: Request) -> Response:
        """Answer a tensor of texts."""
        self._check(request)
        classifier = self._around.classifier()
        body = await read_body(request, InferAsking.most_bytes)
        document, binary = split_body(body, request.headers.get(JSON_LENGTH))
        asking = parse_asking(document, InferAsking)
        texts = asking.texts(binary)
        if classifier is not None:
            return await self._classified(request, classifier, asking, texts)
        asking.check_outputs(TEXT_OUTPUTS)
        if len(texts) != 1:
            raise RequestRefused([FieldFault(DATA_FIELD, "this model takes one text at a time")])
        return self._generated(
            texts[0], asking.settings(), DATA_FIELD, partial(inferred, Named(self._around.served, asking.id))
        )

    async def generate(self, request: Request) -> Response:
        """Continue a text."""
        return await self._triton(request, is_stream=False)

    async def generate_stream(self, request: Request) -> Response:
        """Continue a text as server-sent events."""
        return await self._triton(request, is_stream=True)

    async def _triton(self, request: Request, *, is_stream: bool) -> Response:
        self._check(request)
        self._around.text()
        asking = await read_asking(request, TritonAsking)
        writer = TritonWriter(Named(self._around.served, asking.id))
        stream = writer if is_stream else None
        return self._generated(asking.text_input, asking.parameters, "text_input", writer.whole, stream)

    async def _classified(
        self, request: Request, classifier: ClassifierBackend, asking: InferAsking, texts: Sequence[str]
    ) -> Response:
        asking.check_outputs(CLASSIFIER_OUTPUTS)
        if settings := asking.settings():
            raise RequestRefused(
                [FieldFault(f"parameters.{name}", "is no setting of this worker") for name in settings]
            )
        with self._around.lane.place():
            inferences = await self._around.lane.run(partial(classifier.classify, texts))
        if len(inferences) == 1:
            # The same text has the same DNA whatever path it came by; of several, the request is what was asked.
            told_hash(request.scope, inferences[0].input_hash)
        return JSONResponse(classified(Named(self._around.served, asking.id), asking, inferences))

    def _generated(
        self,
        text: str,
        parameters: Mapping[str, object],
        field: str,
        write_whole: WriteWhole,
        stream: StreamWriter | None = None,
    ) -> Response:
        backend = self._around.text()
        called = {name: f"parameters.{name}" for name in parameters}
        settings = merged(backend, parameters, called)
        question = Question(backend, settings, partial(backend.encode, text), field, write_whole, stream)
        return TextAnswer(self._around, question)

    def _check(self, request: Request) -> None:
        """Check the model that the path names, and the version where it names one.

        Raises:
            Problem: 404, for either.
        """
        served, (model, version) = self._around.served, (request.path_params.get(n) for n in ("model", "version"))
        if model != served.model_id:
            detail = f"This worker serves {served.model_id}, not {model}."
            raise Problem(HTTPStatus.NOT_FOUND, "model_not_found", detail)
        if version is not None and read_version(version) != served.version:
            detail = f"This worker serves {served.model_id} {served.version}, not {version}."
            raise Problem(HTTPStatus.NOT_FOUND, "version_not_found", detail)
