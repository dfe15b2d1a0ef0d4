from __future__ import annotations

import hashlib
import json
import struct
from typing import Any

import pytest

from inference_dna.canonical import Json, Refused
from inference_dna.inputs import Part, hash_bytes, hash_multipart, hash_request, hash_request_value, hash_tokens

CONTENT = hashlib.sha256(b"RIFF").hexdigest()


def test_tokens_by_hand() -> None:
    body = b"inference-dna/1/input/tokens\n2,1\n" + struct.pack("<3q", 7, -1, 2**63 - 1)

    assert hash_tokens([[7, -1], [2**63 - 1]]) == hashlib.sha256(body).hexdigest()
    assert hash_tokens(((7, -1), (2**63 - 1,))) == hash_tokens([[7, -1], [2**63 - 1]])


def test_where_sequences_end_is_part_of_the_input() -> None:
    assert len({hash_tokens(ids) for ids in ([[1, 2], [3]], [[1], [2, 3]], [[1, 2, 3]], [[1, 2, 3], []])}) == 4


@pytest.mark.parametrize(
    "ids", [[], [[1, True]], [[1.0]], [["1"]], ["12"], [b"12"], [1], [[2**63]], [[-(2**63) - 1]], [None]]
)
def test_ids_that_are_refused(ids: Any) -> None:
    with pytest.raises(Refused):
        hash_tokens(ids)


def test_what_only_travels_is_no_input() -> None:
    travelling: dict[str, Json] = {"id": "1", "metadata": {}, "model": "m@^2", "request_id": "r", "user": "u"}
    travelling |= {"stream": True, "stream_options": {}}

    assert hash_request(json.dumps(travelling | {"text": "hi"})) == hash_request(b'{"text":"hi"}')
    assert hash_request('{"text":"hi","temperature":0.5}') != hash_request('{"text":"hi"}')


def test_only_the_top_level_is_transport() -> None:
    assert hash_request('{"inputs":{"id":"1"}}') != hash_request('{"inputs":{"id":"2"}}')


def test_fetched_media_is_hashed_by_its_content() -> None:
    fetched: dict[str, Json] = {"image": {"sha256": CONTENT, "size": 4}, "model": "m"}

    assert hash_request_value(fetched) == hash_request(json.dumps(fetched))


@pytest.mark.parametrize("text", ["[1]", '"text"', "null", "{", '{"a":1,"a":2}'])
def test_requests_that_are_refused(text: str) -> None:
    with pytest.raises(Refused):
        hash_request(text)


def test_parameters_and_capitals_of_a_media_type_do_not_count() -> None:
    plain = hash_bytes("audio/wav", b"RIFF")

    assert hash_bytes("Audio/WAV; codecs=1", b"RIFF") == plain
    assert hash_bytes("audio/mpeg", b"RIFF") != plain
    assert hash_bytes("audio/wav", b"RIFX") != plain


def test_a_multipart_body_is_a_request_over_its_parts_in_order() -> None:
    sound, text = Part("file", "Audio/WAV", 4, CONTENT), Part("language", None, 4, CONTENT)
    written = {"parts": [
        {"name": "file", "type": "audio/wav", "size": 4, "sha256": CONTENT},
        {"name": "language", "type": None, "size": 4, "sha256": CONTENT},
    ]}  # fmt: skip

    assert hash_multipart([sound, text]) == hash_request(json.dumps(written))
    assert hash_multipart([text, sound]) != hash_multipart([sound, text])


def test_a_part_needs_a_bare_digest() -> None:
    with pytest.raises(Refused, match="bare digest"):
        hash_multipart([Part("file", None, 4, f"sha256:{CONTENT}")])
