from __future__ import annotations

import pytest

from worker.fault import RequestRefused
from worker.surface.binary_tensors import read_texts, split_body


def element(text: bytes) -> bytes:
    return len(text).to_bytes(4, "little") + text


@pytest.mark.parametrize("texts", [(), ("a",), ("", "退款", "b\0c"), ("x" * 300,)], ids=["none", "one", "odd", "long"])
def test_texts_are_read_as_they_were_written(texts: tuple[str, ...]) -> None:
    assert read_texts(b"".join(element(text.encode()) for text in texts)) == texts


@pytest.mark.parametrize(
    ("data", "says"),
    [
        pytest.param(b"\x05", "length of four bytes", id="half-a-length"),
        pytest.param(b"\x05\0\0\0abc", "as many bytes", id="fewer-bytes-than-said"),
        pytest.param(b"\xff\xff\xff\xffabc", "as many bytes", id="a-huge-length"),
        pytest.param(element(b"a") + b"\0", "length of four bytes", id="something-behind"),
        pytest.param(element(b"\xff"), "no UTF-8", id="no-text"),
    ],
)
def test_what_does_not_add_up_is_refused(data: bytes, says: str) -> None:
    with pytest.raises(RequestRefused, match=rf"inputs\.0\.data: .*{says}"):
        read_texts(data)


def test_a_body_without_the_header_is_all_json() -> None:
    assert split_body(b"{}", None) == (b"{}", b"")
    assert split_body(b"{}ab", "2") == (b"{}", b"ab")


@pytest.mark.parametrize("said", ["", "-1", "+2", "5", "2.0", "\u0662", "9" * 5000])
def test_a_header_that_cannot_be_true_is_refused(said: str) -> None:
    with pytest.raises(
        RequestRefused, match="Inference-Header-Content-Length: must say how many of the body's 4 bytes"
    ):
        split_body(b"{}ab", said)
