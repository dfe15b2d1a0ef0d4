"""The worker's HTTP surface: `POST /generate`, `POST /generate_stream`, `GET|HEAD /healthz`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from http import HTTPStatus

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from inference_dna.canonical import Json
from inference_dna.headers import INPUT_HASH
from inference_dna.manifest import Manifest
from inference_dna.measure.healthz import Served, healthz_document, loading_document
from worker.answering import answer_document, events
from worker.asking import Asking, read_asking
from worker.engine import Engine, Inference
from worker.identity import manifest_note
from worker.lane import Lane, Saturated
from worker.lifecycle import Lifecycle, Loaded, Status
from worker.problem import Problem, answer_errors

_RETRY_S = 1
_NEVER_STORED = {"Cache-Control": "no-store"}


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the surface is handed: the state, the name, the threads, and facts of this process.

    `uptime_s` gives seconds since the start. `delay_s` is waited before each answer and each event, for demonstrations
    and load tests; it changes no answer.
    """

    lifecycle: Lifecycle
    served: Served
    manifest: Manifest | None
    lane: Lane
    boot_id: str
    uptime_s: Callable[[], float]
    delay_s: float = 0.0


def build_app(around: Surroundings) -> FastAPI:
    """Make the application. Stamps are put on from outside (`worker.stamping`)."""
    surface = Surface(around)
    app = FastAPI(title=around.served.model_id, version=around.served.version, docs_url=None, redoc_url=None)
    body = {"requestBody": {"required": True, "content": {"application/json": {"schema": Asking.model_json_schema()}}}}
    for path, handler in (("/generate", surface.generate), ("/generate_stream", surface.generate_stream)):
        app.add_api_route(path, handler, methods=["POST"], openapi_extra=body, response_model=None)
    app.add_api_route("/healthz", surface.healthz, methods=["GET"], response_model=None)
    app.add_api_route("/healthz", surface.healthz, methods=["HEAD"], response_model=None, include_in_schema=False)
    answer_errors(app)
    return app


class Surface:
    """The three handlers. They share only what `Surroundings` names, and change none of it."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around

    async def generate(self, request: Request) -> Response:
        """Answer one message."""
        engine = self._engine()
        asking = await read_asking(request, self._around.served.model_id)
        inference = await self._infer(engine, asking, delay_s=self._around.delay_s)
        document = answer_document(inference.answer, engine.postprocess, self._around.served)
        return JSONResponse(document, headers={INPUT_HASH: inference.input_hash})

    async def generate_stream(self, request: Request) -> Response:
        """Answer one message as server-sent events, best candidate first."""
        engine = self._engine()
        asking = await read_asking(request, self._around.served.model_id)
        inference = await self._infer(engine, asking)
        stream = _paced(events(inference.answer, engine.postprocess, self._around.served), self._around.delay_s)
        headers = {INPUT_HASH: inference.input_hash, **_NEVER_STORED}
        return StreamingResponse(stream, headers=headers, media_type="text/event-stream")

    async def healthz(self) -> Response:
        """Say what this worker is and whether it answers (dna.md section 6)."""
        state = self._around.lifecycle.state
        if state.status is Status.OK and state.loaded is not None:
            return JSONResponse(self._identity(state.loaded), headers=_NEVER_STORED)
        document = loading_document(
            self._around.served,
            boot_id=self._around.boot_id,
            uptime_seconds=int(self._around.uptime_s()),
            reason=state.reason,
        )
        body = {**document, "status": state.status.value}
        return JSONResponse(body, HTTPStatus.SERVICE_UNAVAILABLE.value, headers=_NEVER_STORED)

    def _identity(self, loaded: Loaded) -> dict[str, Json]:
        document = healthz_document(
            loaded.genome,
            self._around.served,
            boot_id=self._around.boot_id,
            uptime_seconds=int(self._around.uptime_s()),
        )
        return {**document, "manifest": manifest_note(self._around.manifest, loaded.genome.digests)}

    def _engine(self) -> Engine:
        state = self._around.lifecycle.state
        if state.status is not Status.OK or state.loaded is None:
            raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, "not_ready", state.reason, retry_s=_RETRY_S)
        return state.loaded.engine

    async def _infer(self, engine: Engine, asking: Asking, *, delay_s: float = 0.0) -> Inference:
        """Infer in a thread. The place is held through the delay, so that a slow worker fills up like a real one."""
        try:
            with self._around.lane.place():
                inference = await self._around.lane.run(lambda: engine.infer(asking.text))
                await asyncio.sleep(delay_s)
        except Saturated as error:
            detail = "Every place of this worker is taken; try again."
            raise Problem(HTTPStatus.TOO_MANY_REQUESTS, "saturated", detail, retry_s=_RETRY_S) from error
        return inference


async def _paced(parts: Iterator[bytes], delay_s: float) -> AsyncIterator[bytes]:
    for part in parts:
        # Even without a delay the loop gets to write each event before the next is made.
        await asyncio.sleep(delay_s)
        yield part
