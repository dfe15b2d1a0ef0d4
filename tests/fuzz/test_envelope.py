"""Bodies: what is read is what a JSON reader reads, and what is cut out is all that changes."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gateway.proxy.envelope import read_envelope, without_selector
from gateway.proxy.problem import Refused

NAMES = st.sampled_from(["model", "stream", 'say "model', "Model", "mode", "a", "messages", "\0model0", "\0\0" + "0"])
TEXTS = st.text(max_size=8) | st.sampled_from(["m@^2.4", "org/m@", "model", '"model":', "a@b@c"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=10,
)


@given(st.dictionaries(NAMES, VALUES, max_size=6), st.booleans(), st.sampled_from([None, 1]))
def test_what_is_read_is_what_stands_there(document: dict[str, Any], ascii_only: bool, indent: int | None) -> None:
    try:
        body = json.dumps(document, ensure_ascii=ascii_only, indent=indent).encode()
    except UnicodeEncodeError:
        return
    model = document.get("model")
    try:
        envelope = read_envelope(body)
    except Refused:
        assert "model" in document
        assert not isinstance(model, str) or not model.partition("@")[0] or has_half_pair(model)
        return
    name, mark, selector = model.partition("@") if isinstance(model, str) else (None, "", "")
    assert (envelope.model_id, envelope.selector) == (name, selector if mark else None)
    assert envelope.stream is (document.get("stream") is True)
    rewritten = json.loads(without_selector(body, envelope))
    assert rewritten == (document if name is None else document | {"model": name})


def has_half_pair(text: str) -> bool:
    return any(0xD800 <= ord(mark) <= 0xDFFF for mark in text)


@given(st.binary(max_size=80) | st.binary(max_size=60).map(lambda data: b'{"model": "m@1", "x": ' + data + b"}"))
def test_any_bytes_at_all(body: bytes) -> None:
    try:
        envelope = read_envelope(body)
    except Refused as refused:
        outcome = refused.problem.status
    else:
        outcome = 400 if envelope.selector is not None and b"@" not in body and b"\\u0040" not in body else 200
    assert outcome in (200, 400)
    assert outcome == 200 or body.lstrip(b" \t\r\n").startswith(b"{")
