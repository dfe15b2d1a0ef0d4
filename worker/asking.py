"""Reads what a client asks: a body of bounded size, a frozen document, settings in the client's own words."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from http import HTTPStatus
from typing import Annotated, ClassVar, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from starlette.requests import Request

from worker.backend import TextBackend
from worker.fault import FieldFault, RequestRefused
from worker.generation import Settings, merge
from worker.problem import Problem

MAX_CHARACTERS = 4000
"""Of a text that is classified."""

_UNKNOWN = "extra_forbidden"
_OURS = "Value error, "
"""What pydantic puts before a sentence of ours."""


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("must hold more than white space")
    return text


def listed(value: object) -> object:
    """Read one text as a list of one: OpenAI's clients send both."""
    if isinstance(value, str):
        return (value,)
    return tuple(value) if isinstance(value, list) else value


class Asking(BaseModel):
    """What all documents have in common. Nothing of them changes how other requests are answered."""

    # An unknown parameter is refused: a client must not believe that it was obeyed.
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
    most_bytes: ClassVar[int] = 1024 * 1024
    """A body with more is not read to its end."""


class ClassifyAsking(Asking):
    """Body of `POST /generate` and `POST /generate_stream` to a classifier."""

    most_bytes: ClassVar[int] = 64 * 1024
    text: Annotated[str, Field(max_length=MAX_CHARACTERS), AfterValidator(_not_blank)]
    """The customer's message."""
    model: str | None = None
    """Where given, it must be the model that is served."""


class GenerateAsking(Asking):
    """Body of `POST /generate` and `POST /generate_stream` to a language model. A setting left out is the bundle's."""

    text: str
    """What is to be continued."""
    model: str | None = None
    """Where given, it must be the model that is served."""
    max_new_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    repetition_penalty: float | None = None
    seed: int | None = None
    stop: Annotated[tuple[str, ...] | None, BeforeValidator(listed)] = None

    def settings(self) -> dict[str, object]:
        """What is asked of the generation, by the names of `Settings`."""
        return self.model_dump(exclude={"text", "model"})


Document = TypeVar("Document", bound=Asking)


async def read_asking(request: Request, kind: type[Document]) -> Document:
    """Read a request's body.

    Raises:
        Problem: 413 for a body over the document's `most_bytes`.
        RequestRefused: With every field that is wrong.
    """
    return parse_asking(await read_body(request, kind.most_bytes), kind)


def parse_asking(body: bytes, kind: type[Document]) -> Document:
    """Read a document from a body.

    Raises:
        RequestRefused: With every field that is wrong.
    """
    try:
        document = kind.model_validate_json(body)
    except ValidationError as error:
        raise RequestRefused([_fault(each["loc"], each["type"], each["msg"]) for each in error.errors()]) from error
    # Readers differ in which of two they take, so what stands twice is nobody's wish for sure.
    json.loads(body, object_pairs_hook=_check_once)
    return document


def check_model(asked: str | None, model_id: str) -> None:
    """Check the model that a request names, where it names one.

    Raises:
        RequestRefused: It is another than the one that is served.
    """
    if asked not in (None, model_id):
        raise RequestRefused([FieldFault("model", f"this worker serves {model_id}")])


def merged(backend: TextBackend, asked: Mapping[str, object], called: Mapping[str, str]) -> Settings:
    """Give the settings of one request.

    Args:
        backend: Has the defaults, and says what a request may ask for.
        asked: Values by the names of `Settings`.
        called: What the client calls a setting, where it has another name for it.

    Raises:
        RequestRefused: With every field that is at fault, by the client's names.
    """
    try:
        return merge(backend.defaults, asked, backend.allowed)
    except RequestRefused as refused:
        faults = [FieldFault(called.get(fault.field, fault.field), fault.message) for fault in refused.faults]
        raise RequestRefused(faults) from refused


async def read_body(request: Request, most: int) -> bytes:
    """Read a request's body.

    Raises:
        Problem: 413 for more bytes than `most`.
    """
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > most:
            status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
            raise Problem(status, "body_too_large", f"A request may have {most} bytes.")
    return bytes(body)


def _fault(location: tuple[int | str, ...], kind: str, message: str) -> FieldFault:
    field = ".".join(map(str, location)) or "body"
    return FieldFault(field, "is no parameter of this worker" if kind == _UNKNOWN else message.removeprefix(_OURS))


def _check_once(members: list[tuple[str, object]]) -> None:
    counted = Counter(name for name, _ in members)
    if len(counted) < len(members):
        raise RequestRefused([FieldFault(name, "is there twice") for name, times in counted.items() if times > 1])
