"""From a request as it was read to the question that routing answers (clients.md section 2)."""

from __future__ import annotations

from gateway.proxy.envelope import EMPTY, Envelope, read_envelope
from gateway.proxy.names import check_names
from gateway.proxy.problem import Family, refuse
from gateway.proxy.request import Request
from gateway.proxy.target import Target
from gateway.routing.asking import RouteRequest
from gateway.routing.snapshot import Snapshot

_MODEL_ID = b"x-model-id"
_PREFERENCE = b"x-model-preference"
_DNA_PREFIX = b"x-inference-dna-prefix"
_DNA_WISH = b"x-inference-dna"
_ACCEPT = b"accept"
_READ = frozenset({_MODEL_ID, _PREFERENCE, _DNA_PREFIX, _DNA_WISH, _ACCEPT})


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
    said = _routing_headers(request)
    model_id = _model_of(target, said.get(_MODEL_ID))
    envelope = EMPTY
    if request.body and (target.family is Family.OPENAI or model_id is None):
        envelope = read_envelope(request.body)
        if envelope.model_id is not None:
            model_id = _agreed(model_id, envelope.model_id)
    if model_id is None and len(snapshot.models) == 1:
        model_id = next(iter(snapshot.models))
    selectors, dna_prefix = _selectors(target, said.get(_PREFERENCE), envelope), _text(said.get(_DNA_PREFIX))
    route = RouteRequest(
        model_id=model_id,
        selectors=selectors,
        dna_prefix=dna_prefix,
        dna_wish=_text(said.get(_DNA_WISH)),
        sticky_key=_sticky_key(request, snapshot, model_id) or request_id,
    )
    return Asking(route, envelope, envelope.stream or said.get(_ACCEPT) == b"text/event-stream")


def _routing_headers(request: Request) -> dict[bytes, bytes]:
    said = request.facts.said
    if said is not None:
        return said
    said = {}
    for name, raw, value in request.headers:
        if name in _READ and said.setdefault(name, value) != value and name != _ACCEPT:
            raise refuse(400, "selector_conflict", f"{raw.decode()} is sent twice with different values.", close=False)
    check_names(said.get(_MODEL_ID), said.get(_PREFERENCE), said.get(_DNA_PREFIX))
    request.facts.said = said
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


def _selectors(target: Target, header: bytes | None, envelope: Envelope) -> tuple[str, ...]:
    selectors = target.selectors
    if header is not None:
        selectors += (_decode(header),)
    if envelope.selector is not None:
        selectors += (envelope.selector,)
    return selectors


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
