"""The worker's HTTP surface, put together. Stamps and `/healthz` are put around it (`inference_dna.middleware`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fastapi import FastAPI

from worker.asking import Asking
from worker.problem import answer_errors
from worker.surface import generate, inference_protocol, openai
from worker.surface.generate import Generate
from worker.surface.inference_protocol import InferenceProtocol
from worker.surface.openai import OpenAI
from worker.surface.surroundings import Surroundings

_SCHEMAS = "#/components/schemas/{model}"


def build_app(around: Surroundings) -> FastAPI:
    """Make the application: every path of every family, whatever the model can; errors say what it cannot."""
    served = around.served
    app = FastAPI(
        title=served.model_id,
        version=served.version,
        docs_url=None,
        redoc_url=None,
        # A redirect would name the address that the worker was asked at, which clients of a gateway do not have.
        redirect_slashes=False,
    )
    for surface in (Generate(around), OpenAI(around), InferenceProtocol(around)):
        app.include_router(surface.router())
    answer_errors(app)
    _describe(app, {**generate.ASKINGS, **openai.ASKINGS, **inference_protocol.ASKINGS})
    return app


def _describe(app: FastAPI, askings: dict[str, tuple[type[Asking], ...]]) -> None:
    """Put the documents that are asked into the description: handlers read bodies themselves, to bound them."""
    description = app.openapi()
    schemas = description.setdefault("components", {}).setdefault("schemas", {})
    for path, kinds in askings.items():
        body = {"anyOf": list(_schemas_of(kinds, schemas))}
        description["paths"][path.replace(":path", "")]["post"]["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": body}},
        }


def _schemas_of(kinds: Iterable[type[Asking]], shared: dict[str, Any]) -> Iterable[dict[str, str]]:
    """Put schemas where they can be referred to, and give the references."""
    for kind in kinds:
        schema = kind.model_json_schema(ref_template=_SCHEMAS)
        shared |= {**schema.pop("$defs", {}), kind.__name__: schema}
        yield {"$ref": _SCHEMAS.format(model=kind.__name__)}
