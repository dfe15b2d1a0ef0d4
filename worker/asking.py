"""Reads what a client asks; past this file there is only a message."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from starlette.requests import Request

from worker.problem import FieldFault, Problem

MAX_BODY_BYTES = 64 * 1024
MAX_CHARACTERS = 4000


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("must hold more than white space")
    return text


class Asking(BaseModel):
    """Body of `POST /generate` and `POST /generate_stream`. Nothing of it changes how other requests are answered."""

    # An unknown parameter is refused: a client must not believe that it was obeyed.
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    text: Annotated[str, Field(max_length=MAX_CHARACTERS), AfterValidator(_not_blank)]
    """The customer's message."""
    model: str | None = None
    """Where given, it must be the model that is served."""


async def read_asking(request: Request, model_id: str) -> Asking:
    """Read a request's body.

    Raises:
        Problem: 413 for a body over `MAX_BODY_BYTES`, 422 with every field that is wrong.
    """
    try:
        asking = Asking.model_validate_json(await _read_body(request))
    except ValidationError as error:
        raise _refused([_fault(details["loc"], details["msg"]) for details in error.errors()]) from error
    if asking.model not in (None, model_id):
        raise _refused([FieldFault("model", f"this worker serves {model_id}")])
    return asking


async def _read_body(request: Request) -> bytes:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
            raise Problem(status, "body_too_large", f"A request may have {MAX_BODY_BYTES} bytes.")
    return bytes(body)


def _fault(location: tuple[int | str, ...], message: str) -> FieldFault:
    return FieldFault(".".join(map(str, location)) or "body", message)


def _refused(faults: list[FieldFault]) -> Problem:
    detail = "; ".join(f"{fault.field}: {fault.message}" for fault in faults)
    return Problem(HTTPStatus.UNPROCESSABLE_ENTITY, "invalid_request", detail, faults=faults)
