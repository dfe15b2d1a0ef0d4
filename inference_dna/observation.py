"""What one answer or probe said about its worker, before anybody judges it (dna.md sections 6 and 10).

Values are kept as they were sent. A parse error is never turned into an absent value: what cannot be read, stands
twice or contradicts itself becomes a text that no reader takes for a good one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from inference_dna import headers as names
from inference_dna.canonical import Json, Refused, parse_json

_FIELDS = {
    names.DNA: "dna",
    names.DIGEST: "digest",
    names.INPUT_HASH: "input_hash",
    names.MODEL_ID: "model_id",
    names.MODEL_VERSION: "version",
    names.ASSURANCE: "assurance",
    names.FORMAT: "format",
}
_UNREADABLE = "unreadable body"
_NOT_TEXT = "not a text"
_SERVER_ERROR = 500


@dataclass(frozen=True, slots=True)
class Observation:
    """One answer as seen from outside; None stands for what was not sent.

    `http` is None where no answer came. `status` is the body's word at `/healthz` and None for a response.
    `dna_required` is false only where the contract does not ask responses for a DNA (`verification: probe`).
    `hardware` is the hardware section a `/healthz` body carries.
    """

    http: int | None
    status: str | None = None
    format: str | None = None
    dna: str | None = None
    digest: str | None = None
    input_hash: str | None = None
    model_id: str | None = None
    version: str | None = None
    assurance: str | None = None
    dna_required: bool = True
    hardware: Mapping[str, Json] | None = None
    boot_id: str | None = None

    @classmethod
    def from_headers(cls, http: int, headers: Iterable[tuple[str, str]], *, dna_required: bool) -> Observation:
        """Read a response.

        Args:
            http: Status code.
            headers: Names in any case with their values, in order. A name sent twice has its values joined with
                `, `, which is malformed, never absent.
            dna_required: Whether this answer must carry a DNA.
        """
        sent = _stated(headers).get
        return cls(
            http,
            None,
            sent("format"),
            sent("dna"),
            sent("digest"),
            sent("input_hash"),
            sent("model_id"),
            sent("version"),
            sent("assurance"),
            dna_required,
        )

    @classmethod
    def from_healthz(cls, http: int, headers: Iterable[tuple[str, str]], body: bytes) -> Observation:
        """Read the answer to a probe; headers and body that contradict each other are malformed.

        An empty body is that of a `HEAD`: the headers speak alone.
        """
        stated = cls.from_headers(http, headers, dna_required=True)
        if not body:
            return stated
        document = _document(body)
        return replace(stated, dna=_UNREADABLE) if document is None else _with_body(stated, document)


NO_ANSWER = Observation(http=None)
"""A timeout, a refused or reset connection, nothing at all."""


def _stated(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    stated: dict[str, str] = {}
    for name, value in headers:
        field = _FIELDS.get(name.lower())
        if field is not None:
            stated[field] = f"{stated[field]}, {value}" if field in stated else value
    return stated


def _document(body: bytes) -> Mapping[str, Json] | None:
    try:
        document = parse_json(body)
    except Refused:
        return None
    return document if isinstance(document, Mapping) else None


def _with_body(stated: Observation, document: Mapping[str, Json]) -> Observation:
    hardware = document.get("hardware")
    return replace(
        stated,
        status=_status(stated.http, document),
        format=_agreed(stated.format, document.get("format")),
        dna=_agreed(stated.dna, document.get("dna")),
        digest=_agreed(stated.digest, document.get("digest")),
        model_id=_agreed(stated.model_id, document.get("model_id")),
        version=_agreed_version(stated.version, document.get("version")),
        assurance=_agreed(stated.assurance, document.get("assurance")),
        hardware=hardware if isinstance(hardware, Mapping) else None,
        boot_id=_text(document.get("boot_id")),
    )


def _status(http: int | None, document: Mapping[str, Json]) -> str | None:
    """The body's status; a body that carries none is not ready, save for an error page, which is no health report."""
    if "status" in document:
        return _text(document["status"]) or ""
    return None if http is not None and http >= _SERVER_ERROR else ""


def _text(value: Json) -> str | None:
    return value if value is None or isinstance(value, str) else _NOT_TEXT


def _agreed(in_header: str | None, value: Json) -> str | None:
    in_body = _text(value)
    if in_header is None or in_body is None or in_header == in_body:
        return in_body if in_header is None else in_header
    return f"{in_header}, {in_body}"


def _agreed_version(in_header: str | None, value: Json) -> str | None:
    """As `_agreed`; `2.4.0` and `v2.4.0` are one version."""
    if in_header is not None and isinstance(value, str) and in_header.removeprefix("v") == value.removeprefix("v"):
        return in_header
    return _agreed(in_header, value)
