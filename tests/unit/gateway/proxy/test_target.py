"""What a target says, and which targets are never sent on."""

from __future__ import annotations

import pytest

from gateway.proxy.problem import Family, Refused
from gateway.proxy.target import parse_target

PLAIN, OPENAI, OPEN_INFERENCE = Family.PLAIN, Family.OPENAI, Family.OPEN_INFERENCE


@pytest.mark.parametrize(
    ("raw", "forward", "family", "selectors", "model_id"),
    [
        pytest.param(b"/", b"/", PLAIN, (), None, id="root"),
        pytest.param(b"/generate?a=b&c", b"/generate?a=b&c", PLAIN, (), None, id="query-untouched"),
        pytest.param(b"/v2.4.0/generate", b"/generate", PLAIN, ("v2.4.0",), None, id="leading-version"),
        pytest.param(b"/v2.4.0", b"/", PLAIN, ("v2.4.0",), None, id="version-alone"),
        pytest.param(b"/v2.4.0/", b"/", PLAIN, ("v2.4.0",), None, id="version-and-slash"),
        pytest.param(b"/v2.4.0?x", b"/?x", PLAIN, ("v2.4.0",), None, id="version-and-query"),
        pytest.param(b"/v2.4.1-rc.1/g", b"/g", PLAIN, ("v2.4.1-rc.1",), None, id="pre-release"),
        pytest.param(b"/v2.3.9+fix/g", b"/g", PLAIN, ("v2.3.9+fix",), None, id="build"),
        pytest.param(b"/v2.3.9%2Bfix/g", b"/g", PLAIN, ("v2.3.9+fix",), None, id="build-escaped"),
        pytest.param(b"/v2.4.0//g/%2F", b"//g/%2F", PLAIN, ("v2.4.0",), None, id="rest-byte-for-byte"),
        pytest.param(b"/v2.4/g", b"/v2.4/g", PLAIN, (), None, id="two-numbers-are-a-path"),
        pytest.param(b"/v1.2.3.4/g", b"/v1.2.3.4/g", PLAIN, (), None, id="four-numbers-are-a-path"),
        pytest.param(b"/v1.x.3/g", b"/v1.x.3/g", PLAIN, (), None, id="a-range-is-a-path"),
        pytest.param(b"/v1/chat/completions", b"/v1/chat/completions", OPENAI, (), None, id="openai"),
        pytest.param(b"/v1.0.0/v1/embeddings", b"/v1/embeddings", OPENAI, ("v1.0.0",), None, id="version-then-openai"),
        pytest.param(b"/v1", b"/v1", OPENAI, (), None, id="openai-root"),
        pytest.param(b"/v10/x", b"/v10/x", PLAIN, (), None, id="v10-is-no-api"),
        pytest.param(b"/v1/models/org%2Fm", b"/v1/models/org%2Fm", OPENAI, (), None, id="openai-model"),
        pytest.param(b"/v1/models/m:predict", b"/v1/models/m:predict", PLAIN, (), "m", id="kserve-1"),
        pytest.param(
            b"/v1/models/org%2Fm:explain", b"/v1/models/org%2Fm:explain", PLAIN, (), "org/m", id="kserve-1-explain"
        ),
        pytest.param(b"/v1/models/:predict", b"/v1/models/:predict", OPENAI, (), None, id="kserve-without-a-model"),
        pytest.param(b"/v2/models/m/infer", b"/v2/models/m/infer", OPEN_INFERENCE, (), "m", id="open-inference"),
        pytest.param(b"/v2/models/org%2Fm/infer", b"/v2/models/org%2Fm/infer", OPEN_INFERENCE, (), "org/m", id="slash"),
        pytest.param(
            b"/v2/models/m/versions/1/infer?x", b"/v2/models/m/infer?x", OPEN_INFERENCE, ("1",), "m", id="versions"
        ),
        pytest.param(
            b"/v1.0.0/v2/models/m/versions/v2.0.0/infer",
            b"/v2/models/m/infer",
            OPEN_INFERENCE,
            ("v1.0.0", "v2.0.0"),
            "m",
            id="two-versions",
        ),
        pytest.param(b"/v2/models/m/versions", b"/v2/models/m/versions", OPEN_INFERENCE, (), "m", id="versions-alone"),
        pytest.param(b"/v2/models", b"/v2/models", OPEN_INFERENCE, (), None, id="no-model"),
        pytest.param(b"/v2/models//infer", b"/v2/models//infer", OPEN_INFERENCE, (), None, id="empty-model"),
        pytest.param(b"/v2", b"/v2", OPEN_INFERENCE, (), None, id="open-inference-root"),
        pytest.param(b"//evil.example/x", b"//evil.example/x", PLAIN, (), None, id="opaque-double-slash"),
        pytest.param(b"/%ff", b"/%ff", PLAIN, (), None, id="escaped-byte"),
        pytest.param(b"/a%2Fb", b"/a%2Fb", PLAIN, (), None, id="escaped-slash"),
        pytest.param(b"/a..b/...", b"/a..b/...", PLAIN, (), None, id="dots-that-are-no-segment"),
        pytest.param(b"/%252e%252e/x", b"/%252e%252e/x", PLAIN, (), None, id="escaped-twice"),
        pytest.param(b"/a?../..", b"/a?../..", PLAIN, (), None, id="dots-in-the-query"),
        pytest.param(b"http://a/p?q", b"/p?q", PLAIN, (), None, id="absolute"),
        pytest.param(b"HTTPS://A/p", b"/p", PLAIN, (), None, id="absolute-in-capitals"),
        pytest.param(b"http://a", b"/", PLAIN, (), None, id="absolute-without-a-path"),
        pytest.param(b"http://a?q", b"/?q", PLAIN, (), None, id="absolute-with-a-query-only"),
        pytest.param(b"http://a/v2.4.0/g", b"/g", PLAIN, ("v2.4.0",), None, id="absolute-with-a-version"),
    ],
)
def test_targets(raw: bytes, forward: bytes, family: Family, selectors: tuple[str, ...], model_id: str | None) -> None:
    target = parse_target(raw, b"a")

    assert target.forward == forward
    assert target.path == forward.partition(b"?")[0]
    assert target.family is family
    assert target.selectors == selectors
    assert target.model_id == model_id


@pytest.mark.parametrize(
    ("raw", "rest"),
    [
        (b"/v2/models/m", ""),
        (b"/v2/models/m/", ""),
        (b"/v2/models/m/ready", "ready"),
        (b"/v2/models/m/versions/1/ready", "ready"),
        (b"/v2/models/m/versions/1", ""),
        (b"/generate", None),
    ],
)
def test_what_follows_the_model(raw: bytes, rest: str | None) -> None:
    assert parse_target(raw, b"a").rest == rest


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        pytest.param(b"*", 404, id="asterisk"),
        pytest.param(b"generate", 400, id="no-slash"),
        pytest.param(b"@evil.example/x", 400, id="userinfo"),
        pytest.param(b"a:443", 400, id="authority"),
        pytest.param(b"ftp://a/x", 400, id="another-scheme"),
        pytest.param(b"http:///x", 400, id="no-authority"),
        pytest.param(b"http://b/x", 400, id="another-host"),
        pytest.param(b"http://a:81/x", 400, id="another-port"),
        pytest.param(b"http://u@a/x", 400, id="user"),
        pytest.param(b"http://a@evil/x", 400, id="host-as-user"),
        pytest.param(b"http://[::ffff:169.254.169.254]/", 400, id="link-local"),
        pytest.param(b"/a#b", 400, id="fragment"),
        pytest.param(b"/a?b#c", 400, id="fragment-behind-a-query"),
        pytest.param(b"http://a#b", 400, id="fragment-of-an-absolute-target"),
        pytest.param(b"/a%00b", 400, id="nul"),
        pytest.param(b"/a?b=%00", 400, id="nul-in-the-query"),
        pytest.param(b"/.", 400, id="dot"),
        pytest.param(b"/..", 400, id="dots"),
        pytest.param(b"/a/../b", 400, id="dots-inside"),
        pytest.param(b"/a/./b", 400, id="dot-inside"),
        pytest.param(b"/%2e%2e/admin", 400, id="escaped-dots"),
        pytest.param(b"/%2E%2e", 400, id="escaped-dots-in-capitals"),
        pytest.param(b"/.%2e/x", 400, id="half-escaped-dots"),
        pytest.param(b"/v1/%2e%2e%2fadmin", 400, id="escaped-dots-and-slash"),
        pytest.param(b"/a%2f..%2fb", 400, id="escaped-slashes"),
        pytest.param(b"/..\\x", 400, id="backslash"),
        pytest.param(b"/a%5c..%5cb", 400, id="escaped-backslashes"),
        pytest.param(b"/v2.4.0/../x", 400, id="dots-behind-a-version"),
        pytest.param(b"/%", 400, id="half-an-escape"),
        pytest.param(b"/%zz", 400, id="no-escape"),
    ],
)
def test_targets_that_are_never_sent_on(raw: bytes, status: int) -> None:
    with pytest.raises(Refused) as refused:
        parse_target(raw, b"a")

    assert refused.value.problem.status == status


def test_an_absolute_target_needs_a_host_line() -> None:
    with pytest.raises(Refused):
        parse_target(b"http://a/x", None)
