"""What a request body says of routing: `model` and `stream`, read without parsing the rest (clients.md section 1)."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable
from functools import lru_cache
from itertools import islice
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, UnsetType

from gateway.proxy.names import MAX_NAME, check_names
from gateway.proxy.problem import Refused, refuse

_MODEL_KEY = re.compile(rb'"(?:m|\\u006[dD])(?:o|\\u006[fF])(?:d|\\u0064)(?:e|\\u0065)(?:l|\\u006[cC])"\s*:')
_PLAIN_KEY: Final = b'"model"'
_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_BLANKS = re.compile(rb"[ \t\r\n]*")
_MAX_MODEL_KEYS = 1000


# Not written as classes: compiled, a class has no annotations that msgspec could read.
_FIELDS: Final[Callable[[bytes], Any]] = msgspec.json.Decoder(
    msgspec.defstruct("_Fields", [("model", str | UnsetType, UNSET), ("stream", Raw | UnsetType, UNSET)])
).decode
_RAW_FIELDS: Final[Callable[[bytes], Any]] = msgspec.json.Decoder(
    msgspec.defstruct("_RawFields", [(name, Raw | UnsetType, UNSET) for name in ("model", "stream")])
).decode
_MEMBERS = msgspec.json.Decoder(dict[str, Raw])


class Envelope:
    """Routing facts of a JSON body.

    Attributes:
        model_id: The model named, without selector; None where the member is absent.
        selector: What stood behind `@`; None where nothing did.
        stream: True only for a literal `true`.
        model_span: Where the value of `model` stands in the body; only where it carried a selector.
    """

    __slots__ = ("model_id", "model_span", "selector", "stream")

    def __init__(
        self,
        model_id: str | None = None,
        selector: str | None = None,
        stream: bool = False,
        model_span: tuple[int, int] | None = None,
    ) -> None:
        self.model_id = model_id
        self.selector = selector
        self.stream = stream
        self.model_span = model_span


EMPTY = Envelope()


def read_envelope(body: bytes) -> Envelope:
    """Read `model` and `stream` of a JSON object; a body that is no JSON object says nothing.

    Raises:
        Refused: `model` stands there twice or is not text, or it stands in what is no sound JSON: a worker that reads
            more leniently could see another model or version than was routed.
    """
    try:
        fields = _FIELDS(body)
    except (msgspec.DecodeError, RecursionError):
        return read_closely(body)
    model, stream = fields.model, _is_true(fields.stream)
    if model is UNSET:
        return Envelope(stream=stream)
    if model and len(model) <= MAX_NAME and "@" not in model and _has_one_key(body):
        return Envelope(model, stream=stream)  # as most bodies are
    return read_closely(body)


def read_closely(body: bytes) -> Envelope:
    """Read any body as `read_envelope` says, also one that is not like most."""
    if not body.lstrip(b" \t\r\n").startswith(b"{"):
        _check_other_encodings(body)
        return EMPTY
    try:
        fields = _RAW_FIELDS(body)
    except (msgspec.DecodeError, RecursionError):
        if _MODEL_KEY.search(body) is not None:
            raise _unreadable("The body names a model but is not JSON that can be read.") from None
        _check_other_encodings(body)
        return EMPTY
    stream = _is_true(fields.stream)
    if fields.model is UNSET:
        return Envelope(stream=stream)
    raw = bytes(fields.model)
    if not _has_one_key(body) and len(_model_keys(body)) != 1:
        raise _unreadable("The body names `model` twice; name it once.")
    model_id, selector = _named(raw)
    if selector is None:
        return Envelope(model_id, stream=stream)
    start = _after_blanks(body, _model_keys(body)[0].end())
    return Envelope(model_id, selector, stream, (start, start + len(raw)))


def _is_true(stream: Raw | UnsetType) -> bool:
    return stream is not UNSET and bytes(stream) == b"true"


def _check_other_encodings(body: bytes) -> None:
    """Refuse a body that names a model in UTF-16 or 32, or behind a byte order mark: some readers take it for JSON.

    RFC 8259 section 8.1 allows UTF-8 without a mark and nothing else.
    """
    if not body.startswith(_MARKS) and b"\0" not in body[:4]:
        return
    try:
        text = body.decode(json.detect_encoding(body), "surrogatepass")
    except UnicodeError:
        return
    if _MODEL_KEY.search(text.encode("utf-8", "surrogatepass")) is not None:
        raise _unreadable("The body names a model but is not UTF-8 without a byte order mark.")


@lru_cache(maxsize=1024)
def _named(raw: bytes) -> tuple[str, str | None]:
    """Split the JSON text of `model` into model and selector; None where nothing stands behind `@`."""
    model_id, mark, selector = _text(raw).partition("@")
    check_names(model_id, selector)
    if not model_id:
        raise refuse(400, "model_required", "`model` is empty; name a model.", close=False)
    return model_id, selector if mark else None


def without_selector(body: bytes, envelope: Envelope) -> bytes:
    """Replace `"model": "name@selector"` by `"model": "name"`: workers know no selectors. Nothing else changes."""
    if envelope.model_span is None:
        return body
    start, end = envelope.model_span
    return body[:start] + msgspec.json.encode(envelope.model_id) + body[end:]


def _has_one_key(body: bytes) -> bool:
    """Say whether a body in which the member was found cannot hold a second: it is spelled once, escapes hide none."""
    # `in` would ask first whether it was given a number, which takes longer than to look.
    return body.count(_PLAIN_KEY) == 1 and (body.find(b"\\") < 0 or body.find(b"\\u00") < 0)


def _model_keys(body: bytes) -> list[re.Match[bytes]]:
    """Find the members named `model` of the outermost object, however their name is written."""
    if _has_one_key(body):
        only = _MODEL_KEY.match(body, body.find(_PLAIN_KEY))
        return [] if only is None else [only]
    found = list(islice(_MODEL_KEY.finditer(body), _MAX_MODEL_KEYS + 1))
    if len(found) < 2:
        return found
    if len(found) > _MAX_MODEL_KEYS:
        raise _unreadable(f"The body names `model` more than {_MAX_MODEL_KEYS} times.")
    return _outermost(body, found)


def _outermost(body: bytes, found: list[re.Match[bytes]]) -> list[re.Match[bytes]]:
    """Tell members of the outermost object from deeper ones: give each a name of its own, and decode that."""
    # More NULs than stand in the whole body: no name that the client chose is the same.
    mark = "\0" * (body.count(b"\\u0000") + 1)
    parts, at = [], 0
    for number, key in enumerate(found):
        parts += [body[at : key.start()], msgspec.json.encode(f"{mark}{number}"), b":"]
        at = key.end()
    try:
        members = _MEMBERS.decode(b"".join([*parts, body[at:]]))
    except msgspec.DecodeError:
        raise _unreadable("The body names a model but is not JSON that can be read.") from None
    return [key for number, key in enumerate(found) if f"{mark}{number}" in members]


def _after_blanks(body: bytes, at: int) -> int:
    blanks = _BLANKS.match(body, at)
    return blanks.end() if blanks is not None else at


def _text(raw: bytes) -> str:
    try:
        return msgspec.json.decode(raw, type=str)
    except msgspec.DecodeError:
        raise _unreadable("`model` must be text.") from None


def _unreadable(detail: str) -> Refused:
    return refuse(400, "bad_request", detail, close=False)
