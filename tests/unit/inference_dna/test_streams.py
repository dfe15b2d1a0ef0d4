from __future__ import annotations

import pytest

from inference_dna.streams import strip_comments


@pytest.mark.parametrize(
    ("body", "left"),
    [
        pytest.param(b"", b"", id="empty"),
        pytest.param(b"data: 1\n\ndata: 2\n\n", b"data: 1\n\ndata: 2\n\n", id="no-comment-no-change"),
        pytest.param(b": dna a1b2c3d49f8e7d6c\ndata: 1\n\n", b"data: 1\n\n", id="before-the-first-event"),
        pytest.param(b"data: 1\n\n: ping\n\ndata: 2\n\n", b"data: 1\n\n\ndata: 2\n\n", id="its-blank-line-stays"),
        pytest.param(b"data: a\r\n: x\r\ndata: b\r\n", b"data: a\r\ndata: b\r\n", id="cr-lf"),
        pytest.param(b"data: a\r: x\rdata: b\r", b"data: a\rdata: b\r", id="cr-alone"),
        pytest.param(b"data: a\n\n: dna-receipt x.y.z", b"data: a\n\n", id="last-line-without-an-end"),
        pytest.param(b"data: :x\n : y\n", b"data: :x\n : y\n", id="a-colon-elsewhere-is-data"),
        pytest.param(b"data: a\x0b: x\x0cb\n", b"data: a\x0b: x\x0cb\n", id="other-controls-end-no-line"),
        pytest.param(b":\n:\n", b"", id="comments-only"),
    ],
)
def test_lines_that_begin_with_a_colon_are_no_part_of_the_body(body: bytes, left: bytes) -> None:
    assert strip_comments(body) == left
