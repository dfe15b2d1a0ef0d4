"""A target is refused or goes on as it came; what it names is never made up."""

from __future__ import annotations

from urllib.parse import unquote_to_bytes

from hypothesis import example, given
from hypothesis import strategies as st

from gateway.proxy.problem import Refused
from gateway.proxy.target import parse_target
from tests.fuzz.requests import check_target

PRINTABLE = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=1, max_size=60)
PIECES = st.lists(
    st.sampled_from(
        ["/", "v2.4.0", "v1", "v2", "models", "m", "versions", "..", ".", "%2e", "%2F", "%00", "#", "?", "\\", "%5c",
         "x", "http://a", ":predict", "*", "%", "%c3%a9", "%0d%0a", "v1.0.0-rc.1+b"]
    ),
    min_size=1,
    max_size=10,
).map("".join)  # fmt: skip


@given(PRINTABLE | PIECES)
@example("/v2.4.0/%2e%2e")
def test_targets_hold_their_rules(raw: str) -> None:
    check_target(raw.encode())


@given(PIECES.map(lambda text: "/" + text))
def test_only_selectors_are_taken_out_of_a_path(raw: str) -> None:
    try:
        target = parse_target(raw.encode(), b"a")
    except Refused:
        return
    removed = len(raw) - len(target.forward)
    spelled = sum(len("/versions/") + 3 * len(selector.encode()) for selector in target.selectors)
    assert 0 <= removed + (target.path == b"/") <= spelled + 1
    assert raw.encode().endswith(target.forward.partition(b"?")[2])
    # Whatever names a segment after decoding was a segment of what came.
    came = set(unquote_to_bytes(raw.encode()).split(b"/"))
    assert set(unquote_to_bytes(target.path).split(b"/")) - {b""} <= came | {part.partition(b"?")[0] for part in came}
