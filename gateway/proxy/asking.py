"""From a request as it was read to the question that routing answers (clients.md section 2)."""

from __future__ import annotations

from typing import Final

from gateway.proxy.envelope import EMPTY, Envelope, read_envelope
from gateway.proxy.names import check_names
from gateway.proxy.problem import Family, refuse
from gateway.proxy.request import Request
from gateway.proxy.target import Target
from gateway.routing.asking import RouteRequest
from gateway.routing.snapshot import Snapshot

_OPENAI: Final = Family.OPENAI
_MODEL_ID: Final = b"x-model-id"
_PREFERENCE: Final = b"x-model-preference"
_DNA_PREFIX: Final = b"x-inference-dna-prefix"
_DNA_WISH: Final = b"x-inference-dna"
_ACCEPT: Final = b"accept"
_READ: Final = frozenset({_MODEL_ID, _PREFERENCE, _DNA_PREFIX, _DNA_WISH, _ACCEPT})


class HeadAsking:
    """What target and head ask, whatever the body says.

    Attributes:
        model_id: The model named; None where none is.
        selectors: What path and `X-Model-Preference` ask for.
        dna_prefix: As in `RouteRequest`.
        dna_wish: As in `RouteRequest`.
        accepts_events: The client accepts nothing but a stream.
    """

    __slots__ = ("accepts_events", "dna_prefix", "dna_wish", "model_id", "selectors")

    def __init__(
        self,
        model_id: str | None,
        selectors: tuple[str, ...],
        dna_prefix: str | None,
        dna_wish: str | None,
        accepts_events: bool,
    ) -> None:
        self.model_id = model_id
        self.selectors = selectors
        self.dna_prefix = dna_prefix
        self.dna_wish = dna_wish
        self.accepts_events = accepts_events


class Asking:
    """What was asked, and two facts of the body that the exchange needs.

    Attributes:
        route: The question for routing.
        envelope: What the body said, if it had to be read.
        stream: The client expects a stream: other time limits hold.
    """

    __slots__ = ("envelope", "route", "stream")

    def __init__(self, route: RouteRequest, envelope: Envelope, stream: bool) -> None:
        self.route = route
        self.envelope = envelope
        self.stream = stream


def read_asking(request: Request, target: Target, snapshot: Snapshot, *, request_id: str) -> Asking:
    """Read model, selectors, DNA wishes and sticky key of a request.

    Raises:
        Refused: A header is sent twice with different values, models disagree, or the body names none properly.
    """
    head = _head_asking(request, target)
    model_id, selectors, envelope = head.model_id, head.selectors, EMPTY
    if request.body and (target.family is _OPENAI or model_id is None):
        envelope = read_envelope(request.body)
        if envelope.model_id is not None:
            model_id = _agreed(model_id, envelope.model_id)
        if envelope.selector is not None:
            selectors += (envelope.selector,)
    if model_id is None and len(snapshot.models) == 1:
        model_id = next(iter(snapshot.models))
    sticky_key = _sticky_key(request, snapshot, model_id) or request_id
    route = RouteRequest(model_id, selectors, head.dna_prefix, head.dna_wish, sticky_key)
    return Asking(route, envelope, envelope.stream or head.accepts_events)


def _head_asking(request: Request, target: Target) -> HeadAsking:
    """Read target and head; worked out once for all requests that repeat the head."""
    known = request.facts.asking
    if known is None:
        said = _routing_headers(request)
        selectors, preference = target.selectors, said.get(_PREFERENCE)
        if preference is not None:
            selectors += (_decode(preference),)
        known = request.facts.asking = HeadAsking(
            _model_of(target, said.get(_MODEL_ID)),
            selectors,
            _text(said.get(_DNA_PREFIX)),
            _text(said.get(_DNA_WISH)),
            said.get(_ACCEPT) == b"text/event-stream",
        )
    return known


def _routing_headers(request: Request) -> dict[bytes, bytes]:
    said: dict[bytes, bytes] = {}
    for name, raw, value in request.headers:
        if name in _READ and said.setdefault(name, value) != value and name != _ACCEPT:
            raise refuse(400, "selector_conflict", f"{raw.decode()} is sent twice with different values.", close=False)
    check_names(said.get(_MODEL_ID), said.get(_PREFERENCE), said.get(_DNA_PREFIX))
    return said


def _model_of(target: Target, header: bytes | None) -> str | None:
    if header is None:
        return target.model_id
    if not header:
        raise refuse(400, "model_required", "X-Model-Id is empty; name a model or leave it out.", close=False)
    return _agreed(target.model_id, _decode(header))


def _agreed(model_id: str | None, other: str) -> str:
    if model_id is not None and model_id != other:
        detail = f"The request names two models, {model_id!r} and {other!r}; name one."
        raise refuse(400, "selector_conflict", detail, close=False)
    return other


def _sticky_key(request: Request, snapshot: Snapshot, model_id: str | None) -> str | None:
    model = snapshot.models.get(model_id) if model_id is not None else None
    if model is None or model.route is None or not model.slices:
        return None
    sticky = model.route.sticky
    if sticky.kind == "header":
        return _text(request.one(sticky.name.lower().encode("latin-1")))
    if sticky.kind == "cookie":
        return _cookie(request, sticky.name)
    return None


def _cookie(request: Request, name: str) -> str | None:
    for value in request.all(b"cookie"):
        for pair in value.split(b";"):
            key, mark, content = pair.strip().partition(b"=")
            if mark and key == name.encode("latin-1"):
                return _decode(content)
    return None


def _text(value: bytes | None) -> str | None:
    return None if value is None else _decode(value)


def _decode(value: bytes) -> str:
    """Header bytes are UTF-8 where clients send more than ASCII (sticky keys, model ids); else as they are."""
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value.decode("latin-1")
