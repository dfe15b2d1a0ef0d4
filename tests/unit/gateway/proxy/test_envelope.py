"""Two members of a body, read without parsing the rest; a selector is cut out and nothing else changes."""

from __future__ import annotations

import json
import time

import pytest

from gateway.proxy.envelope import EMPTY, read_closely, read_envelope, without_selector
from gateway.proxy.problem import Refused


@pytest.mark.parametrize(
    ("body", "model_id", "selector", "stream"),
    [
        pytest.param(b"", None, None, False, id="empty"),
        pytest.param(b"plain text", None, None, False, id="text"),
        pytest.param(b"[1]", None, None, False, id="list"),
        pytest.param(b'"model"', None, None, False, id="a-string"),
        pytest.param(b"{}", None, None, False, id="empty-object"),
        pytest.param(b"{", None, None, False, id="broken-without-a-model"),
        pytest.param(b'{"model": "m"}', "m", None, False, id="model"),
        pytest.param(b' \r\n\t{"model":"m","stream":true}', "m", None, True, id="blanks-and-stream"),
        pytest.param(b'{"stream": true}', None, None, True, id="stream-alone"),
        pytest.param(b'{"model": "m", "stream": false}', "m", None, False, id="stream-false"),
        pytest.param(b'{"model": "m", "stream": 1}', "m", None, False, id="stream-a-number"),
        pytest.param(b'{"model": "m", "stream": "true"}', "m", None, False, id="stream-text"),
        pytest.param(b'{"model": "m@^2.4"}', "m", "^2.4", False, id="selector"),
        pytest.param(b'{"model": "m@"}', "m", "", False, id="empty-selector"),
        pytest.param(b'{"model": "m@a@b"}', "m", "a@b", False, id="two-ats"),
        pytest.param(b'{"model": "org/m"}', "org/m", None, False, id="slash"),
        pytest.param(b'{"\\u006dodel": "m"}', "m", None, False, id="escaped-name"),
        pytest.param(b'{"model": "\\u006d@1"}', "m", "1", False, id="escaped-value"),
        pytest.param(b'{"a": {"model": "x"}, "model": "m"}', "m", None, False, id="deeper-model-first"),
        pytest.param(b'{"model": "m", "a": [{"model": "x"}]}', "m", None, False, id="deeper-model-last"),
        pytest.param(b'{"a": {"model": "x"}}', None, None, False, id="deeper-model-alone"),
        pytest.param(b'{"a": "say \\"model\\": x", "model": "m"}', "m", None, False, id="model-inside-text"),
        pytest.param(b'{"say \\"model": 1, "model": "m"}', "m", None, False, id="name-that-ends-in-model"),
        pytest.param(b'{"a": "model", "model": "m"}', "m", None, False, id="model-as-a-value"),
        pytest.param('{"model": "模型"}'.encode(), "模型", None, False, id="not-ascii"),
    ],
)
def test_bodies(body: bytes, model_id: str | None, selector: str | None, stream: bool) -> None:
    for envelope in (read_envelope(body), read_closely(body)):
        assert (envelope.model_id, envelope.selector, envelope.stream) == (model_id, selector, stream)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        pytest.param(b'{"model": "a", "model": "b"}', "bad_request", id="twice"),
        pytest.param(b'{"model": "a", "model": "a"}', "bad_request", id="twice-the-same"),
        pytest.param(b'{"model": "a", "\\u006Dodel": "b"}', "bad_request", id="twice-once-escaped"),
        pytest.param(b'{"model": "a", "x": {"model": 1}, "m\\u006fdel" : "b"}', "bad_request", id="three-textually"),
        pytest.param(b'{"model": null}', "bad_request", id="null"),
        pytest.param(b'{"model": 1}', "bad_request", id="number"),
        pytest.param(b'{"model": {"model": "x"}}', "bad_request", id="object"),
        pytest.param(b'{"model": "\xff"}', "bad_request", id="not-utf-8"),
        pytest.param(b'{"model": "a\\ud800b"}', "bad_request", id="half-a-pair"),
        pytest.param(b'{"model": ""}', "model_required", id="empty"),
        pytest.param(b'{"model": "@v1.0.0"}', "model_required", id="selector-alone"),
        pytest.param(b'{"model": "m@v1.0.0", "x": NaN}', "bad_request", id="python-reads-it-but-it-is-no-json"),
        pytest.param(b'{"model": "m@v1.0.0", "x": 1,}', "bad_request", id="trailing-comma"),
        pytest.param(b'{"model": "m@v1.0.0"', "bad_request", id="broken"),
        pytest.param(b'{"model": "m"} {"model": "n"}', "bad_request", id="two-documents"),
        pytest.param(b'{"a": ' + b"[" * 100_000 + b']}, "model": "m"}', "bad_request", id="too-deep-with-a-model"),
        pytest.param(b"{" + b'"a":{"model":1},' * 2000 + b'"model":"m"}', "bad_request", id="too-many-models"),
        pytest.param(b'{"\xff": {"model": 1}, "model": "m"}', "bad_request", id="names-not-utf-8"),
        pytest.param(b'\xef\xbb\xbf{"model": "m@v1.1.0"}', "bad_request", id="byte-order-mark"),
        pytest.param('{"model": "m"}'.encode("utf-16"), "bad_request", id="utf-16-with-a-mark"),
        pytest.param('{"model": "m"}'.encode("utf-16-le"), "bad_request", id="utf-16-le"),
        pytest.param('{"model": "m"}'.encode("utf-16-be"), "bad_request", id="utf-16-be"),
        pytest.param(' {"model": "m\ud800"}'.encode("utf-32-le", "surrogatepass"), "bad_request", id="utf-32-le"),
        pytest.param('[{"x": 1}, {"\\u006dodel": "m"}]'.encode("utf-32-be"), "bad_request", id="utf-32-be"),
    ],
)
def test_bodies_that_cannot_be_routed(body: bytes, code: str) -> None:
    with pytest.raises(Refused) as refused:
        read_envelope(body)

    assert refused.value.problem.status == 400
    assert refused.value.problem.code == code
    assert not refused.value.close


def test_nesting_without_end_says_nothing_and_harms_nobody() -> None:
    assert read_envelope(b'{"a":' + b"[" * 200_000) is EMPTY


@pytest.mark.parametrize(
    ("body", "rewritten"),
    [
        pytest.param(b'{"model": "m@^2", "x": 1}', b'{"model": "m", "x": 1}', id="plain"),
        pytest.param(b'{"model"\r\n : \t"m@^2"}', b'{"model"\r\n : \t"m"}', id="blanks-kept"),
        pytest.param(b'{"\\u006dodel":"\\u006d\\u0040^2"}', b'{"\\u006dodel":"m"}', id="escapes"),
        pytest.param(b'{"a":{"model":"x@1"},"model":"m@2"}', b'{"a":{"model":"x@1"},"model":"m"}', id="not-deeper"),
        pytest.param(b'{"model":"m@2","a":{"model":"x@1"}}', b'{"model":"m","a":{"model":"x@1"}}', id="not-behind"),
        pytest.param('{"model":"模@2"}'.encode(), '{"model":"模"}'.encode(), id="not-ascii"),
        pytest.param(b'{"model": "m", "x": "a@b"}', b'{"model": "m", "x": "a@b"}', id="no-selector"),
        pytest.param(b"anything", b"anything", id="no-json"),
    ],
)
def test_the_selector_is_cut_out_and_nothing_else_changes(body: bytes, rewritten: bytes) -> None:
    assert without_selector(body, read_envelope(body)) == rewritten


def test_a_model_that_must_be_escaped_is_escaped() -> None:
    body = b'{"model":"a\\"b\\\\@1"}'

    assert json.loads(without_selector(body, read_envelope(body))) == {"model": 'a"b\\'}


@pytest.mark.parametrize(
    "filler",
    [
        pytest.param(b"[" + b"1," * 500_000 + b"1]", id="numbers"),
        pytest.param(b'"' + b"\\n" * 500_000 + b'"', id="escapes"),
        pytest.param(b"[" + b"[]," * 300_000 + b"1]", id="lists"),
    ],
)
def test_a_large_body_with_a_selector_is_read_and_rewritten_quickly(filler: bytes) -> None:
    body = b'{"input": ' + filler + b', "x": {"model": 1}, "model": "m@1"}'
    began = time.process_time()

    envelope = read_envelope(body)
    rewritten = without_selector(body, envelope)

    assert time.process_time() - began < 0.25
    assert (envelope.model_id, envelope.selector, envelope.stream) == ("m", "1", False)
    assert rewritten == body.replace(b'"m@1"', b'"m"')


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"\xff\xfe\x00\xd8", id="half-a-pair"),
        pytest.param(b"\x00\x00\x00\x01\x02 tensor", id="zeros"),
        pytest.param(b"\xef\xbb\xbftext", id="text-with-a-mark"),
        pytest.param('{"prompt": "x"}'.encode("utf-16"), id="utf-16-that-names-none"),
    ],
)
def test_other_bodies_say_nothing(body: bytes) -> None:
    assert read_envelope(body) is EMPTY
