from __future__ import annotations

import pytest

from bench.load.answers import Complete, complete

LENGTH = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
CHUNKED = b"HTTP/1.1 502 X\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n2\r\n{}\r\n0\r\n\r\n"


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(LENGTH, Complete(200, keeps=True), id="with-length"),
        pytest.param(CHUNKED, Complete(502, keeps=False), id="chunked-and-closed"),
        pytest.param(b"HTTP/1.1 204 No Content\r\n\r\n", Complete(204, keeps=True), id="without-a-body"),
    ],
)
def test_a_whole_answer_is_seen_at_its_last_byte_only(data: bytes, expected: Complete) -> None:
    assert complete(data) == expected
    assert [cut for cut in range(len(data)) if complete(data[:cut]) is not None] == []
