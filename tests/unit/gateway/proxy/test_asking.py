"""What a request asks of routing: path, headers and body together, contradictions refused."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.proxy.asking import Asking, read_asking
from gateway.proxy.problem import Refused
from gateway.proxy.request import Request
from gateway.proxy.target import parse_target
from gateway.routing.snapshot import Snapshot
from tests.support.fleets import MODEL, fleet, served, together, unserved

ONE = fleet("v1.0.0")
TWO = together(fleet("v1.0.0", model_id="m"), fleet("v1.0.0", model_id="n"))


def ask(
    path: str = "/generate", *headers: str, body: bytes = b"", snapshot: Snapshot = TWO, method: str = "POST"
) -> Asking:
    lines = [header.encode("latin-1").split(b": ", 1) for header in headers]
    request = Request(method, path.encode(), "1.1", [(n.lower(), n, v) for n, v in lines], True, body)
    return read_asking(request, parse_target(request.target, b"a"), snapshot, request_id="r-1")


@pytest.mark.parametrize(
    ("path", "headers", "body", "model_id"),
    [
        pytest.param("/generate", ("X-Model-Id: m",), b"", "m", id="header"),
        pytest.param("/v2/models/m/infer", (), b"", "m", id="path"),
        pytest.param("/v2/models/m/infer", ("X-Model-Id: m",), b"", "m", id="path-and-header-agree"),
        pytest.param("/generate", (), b'{"model": "m"}', "m", id="body"),
        pytest.param("/v1/chat/completions", ("X-Model-Id: m",), b'{"model": "m"}', "m", id="header-and-body-agree"),
        pytest.param("/v2/models/m/infer", (), b'{"model": "n"}', "m", id="open-inference-bodies-are-not-read"),
        pytest.param("/generate", ("X-Model-Id: m",), b'{"model": "n"}', "m", id="a-header-closes-the-question"),
        pytest.param("/generate", (), b"", None, id="nobody-says"),
        pytest.param("/generate", (), b"not JSON", None, id="a-body-that-says-nothing"),
        pytest.param("/generate", ("X-Model-Id: \xe6\xa8\xa1",), b"", "模", id="utf-8-in-a-header"),
        pytest.param("/generate", ("X-Model-Id: \xff",), b"", "\xff", id="other-bytes-in-a-header"),
    ],
)
def test_the_model(path: str, headers: tuple[str, ...], body: bytes, model_id: str | None) -> None:
    assert ask(path, *headers, body=body).route.model_id == model_id


def test_the_only_model_need_not_be_named() -> None:
    assert ask(snapshot=ONE).route.model_id == MODEL


@pytest.mark.parametrize(
    ("path", "headers", "body", "selectors"),
    [
        pytest.param("/generate", (), b"", (), id="none"),
        pytest.param("/generate", ("X-Model-Preference: ^2.4",), b"", ("^2.4",), id="header"),
        pytest.param("/v2.4.0/generate", (), b"", ("v2.4.0",), id="path"),
        pytest.param("/v1/chat/completions", (), b'{"model": "m@stable"}', ("stable",), id="body"),
        pytest.param("/v1/chat/completions", (), b'{"model": "m@"}', ("",), id="empty-in-the-body"),
        pytest.param(
            "/v2.4.0/v1/embeddings",
            ("X-Model-Preference: ^2",),
            b'{"model": "m@~2.4"}',
            ("v2.4.0", "^2", "~2.4"),
            id="all-three-in-order",
        ),
        pytest.param("/generate", ("X-Model-Preference: a", "x-model-preference: a"), b"", ("a",), id="twice-the-same"),
    ],
)
def test_selectors(path: str, headers: tuple[str, ...], body: bytes, selectors: tuple[str, ...]) -> None:
    assert ask(path, *headers, body=body).route.selectors == selectors


@pytest.mark.parametrize(
    ("path", "headers", "body", "code"),
    [
        pytest.param("/g", ("X-Model-Id: m", "X-Model-Id: n"), b"", "selector_conflict", id="model-twice"),
        pytest.param("/g", ("X-Model-Preference: 1", "X-Model-Preference: 2"), b"", "selector_conflict", id="pref"),
        pytest.param(
            "/g", ("X-Inference-DNA-Prefix: a", "X-Inference-DNA-Prefix: b"), b"", "selector_conflict", id="prefix"
        ),
        pytest.param("/v2/models/m/infer", ("X-Model-Id: n",), b"", "selector_conflict", id="path-and-header"),
        pytest.param("/v1/x", ("X-Model-Id: n",), b'{"model": "m"}', "selector_conflict", id="header-and-body"),
        pytest.param("/g", ("X-Model-Id: ",), b"", "model_required", id="empty-model"),
        pytest.param("/g", (), b'{"model": 1}', "bad_request", id="body-model-no-text"),
        pytest.param("/g", ("X-Model-Id: " + "m" * 5000,), b"", "bad_request", id="endless-model"),
        pytest.param("/g", ("X-Model-Preference: " + "1" * 5000,), b"", "bad_request", id="endless-selector"),
        pytest.param("/g", ("X-Inference-DNA-Prefix: " + "a" * 5000,), b"", "bad_request", id="endless-prefix"),
    ],
)
def test_contradictions(path: str, headers: tuple[str, ...], body: bytes, code: str) -> None:
    with pytest.raises(Refused) as refused:
        ask(path, *headers, body=body)

    assert (refused.value.problem.status, refused.value.problem.code) == (400, code)
    assert not refused.value.close


def test_dna_wishes_are_passed_on_as_sent() -> None:
    route = ask("/g", "X-Inference-DNA-Prefix: A1", "X-Inference-DNA: a1b2c3d49f8e7d6c").route

    assert (route.dna_prefix, route.dna_wish) == ("A1", "a1b2c3d49f8e7d6c")
    assert (ask().route.dna_prefix, ask().route.dna_wish) == (None, None)


@pytest.mark.parametrize(
    ("headers", "body", "stream"),
    [
        pytest.param((), b"", False, id="nothing"),
        pytest.param(("Accept: text/event-stream",), b"", True, id="accept"),
        pytest.param(("Accept: */*", "Accept: text/plain"), b"", False, id="two-accept-lines-are-no-conflict"),
        pytest.param((), b'{"model": "m", "stream": true}', True, id="body"),
    ],
)
def test_streams(headers: tuple[str, ...], body: bytes, stream: bool) -> None:
    assert ask("/v1/chat/completions", *headers, body=body).stream is stream


def routed(**route: Any) -> Snapshot:
    rules = [{"version": "v2.0.0", "traffic_percentage": 10}]
    return fleet(served("v1.0.0"), served("v2.0.0"), route={"default": "v1.0.0", "canary_rules": rules, **route})


@pytest.mark.parametrize(
    ("route", "headers", "key"),
    [
        pytest.param({}, ("X-User-Id: u",), "u", id="the-usual-header"),
        pytest.param({}, (), "r-1", id="absent-the-request-id"),
        pytest.param({}, ("X-User-Id: ",), "r-1", id="empty-the-request-id"),
        pytest.param({"sticky": "header:X-Tenant"}, ("x-tenant: t", "X-User-Id: u"), "t", id="another-header"),
        pytest.param({"sticky": "cookie:sid"}, ("Cookie: a=b; sid=s",), "s", id="cookie"),
        pytest.param({"sticky": "cookie:sid"}, ("Cookie: a=b", "Cookie: sid=t"), "t", id="cookie-on-a-second-line"),
        pytest.param({"sticky": "cookie:sid"}, ("Cookie: xsid=s; sid",), "r-1", id="another-cookie"),
        pytest.param({"sticky": "none"}, ("X-User-Id: u",), "r-1", id="none"),
    ],
)
def test_the_sticky_key(route: dict[str, Any], headers: tuple[str, ...], key: str) -> None:
    assert ask("/g", *headers, snapshot=routed(**route)).route.sticky_key == key


def test_without_canary_rules_nobody_looks_for_a_key() -> None:
    snapshot = fleet(served("v1.0.0"), unserved("v2.0.0"), route={"default": "v1.0.0"})

    assert ask("/g", "X-User-Id: u", snapshot=snapshot).route.sticky_key == "r-1"
