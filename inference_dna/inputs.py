"""The input hash, taken by the worker over what it really fed to the model (dna.md section 5)."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from inference_dna.canonical import Json, Refused, canonical, parse_json
from inference_dna.digest import hashed, parse_hex

_TRANSPORT = frozenset({"id", "metadata", "model", "request_id", "stream", "stream_options", "user"})
"""Top-level members of a request that say how it travels, not what is asked."""


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a multipart body: field name, media type where one was sent, size in bytes, bare SHA-256."""

    name: str
    type: str | None
    size: int
    sha256: str


def hash_tokens(sequences: Sequence[Sequence[int]]) -> str:
    """Hash token ids, special tokens in, padding that only fills a batch out; 64 bare hex.

    Raises:
        Refused: No sequence at all, or an id that is no integer within int64.
    """
    if not sequences:
        raise Refused("There is no sequence to hash; an empty input is one empty sequence.")
    packed = [_packed(sequence) for sequence in sequences]
    lengths = ",".join([str(len(sequence)) for sequence in sequences])
    return hashed("input/tokens", lengths.encode() + b"\n" + b"".join(packed))


def hash_request(text: str | bytes) -> str:
    """Hash a JSON request body, without the members that only say how it travels; 64 bare hex.

    Raises:
        Refused: The body is no strict JSON object.
    """
    request = parse_json(text)
    if not isinstance(request, Mapping):
        raise Refused("A request is a JSON object.")
    return hash_request_value(request)


def hash_request_value(request: Mapping[str, Json]) -> str:
    """Hash a request after the worker replaced the media it fetched by `{"sha256", "size"}`; 64 bare hex.

    Raises:
        Refused: The request has no canonical form.
    """
    kept = {name: value for name, value in request.items() if name not in _TRANSPORT}
    return hashed("input/request", canonical(kept))


def hash_bytes(media_type: str, body: bytes) -> str:
    """Hash a body that is no JSON; parameters and capitals of the media type do not count; 64 bare hex."""
    return hashed("input/bytes", f"{_bare_type(media_type)}\n".encode() + body)


def hash_multipart(parts: Iterable[Part]) -> str:
    """Hash a multipart body, as a request over its parts in order; 64 bare hex.

    Raises:
        Refused: A part has a digest that is no bare hex, or a value without a canonical form.
    """
    return hash_request_value({"parts": [_part_document(part) for part in parts]})


def _packed(sequence: object) -> bytes:
    if not isinstance(sequence, list | tuple):
        raise Refused("Token ids stand in sequences, a list of lists.")
    # `type`, not `isinstance`: True would pack as 1.
    if not {type(token) for token in sequence} <= {int}:
        raise Refused("A token id must be an integer.")
    try:
        return struct.pack(f"<{len(sequence)}q", *sequence)
    except struct.error as error:
        raise Refused("A token id is outside the signed 64-bit range.") from error


def _bare_type(media_type: str) -> str:
    return media_type.partition(";")[0].strip().lower()


def _part_document(part: Part) -> dict[str, Json]:
    bare_type = None if part.type is None else _bare_type(part.type)
    return {"name": part.name, "type": bare_type, "size": part.size, "sha256": parse_hex(part.sha256)}
