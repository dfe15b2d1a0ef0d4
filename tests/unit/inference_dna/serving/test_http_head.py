import pytest

from inference_dna.canonical import Refused
from inference_dna.serving.http_head import read_head


def test_status_and_headers_by_small_names() -> None:
    assert read_head(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nX-Empty:\r\n\r\n") == (
        200,
        {"content-type": "text/plain", "x-empty": ""},
    )


def test_the_last_of_several_heads_counts() -> None:
    assert read_head(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 302 Found\r\nA: 1\r\n\r\nHTTP/2 204\r\nb: 2\r\n") == (
        204,
        {"b": "2"},
    )


def test_a_header_sent_twice_is_seen_as_both() -> None:
    assert read_head(b"HTTP/1.1 200 OK\nA: 1\na: 2\n")[1] == {"a": "1, 2"}


@pytest.mark.parametrize("content", [b"", b"A: 1\r\n", b"GET / HTTP/1.1\r\n"])
def test_without_a_status_line_it_is_no_head(content: bytes) -> None:
    with pytest.raises(Refused, match="curl -D"):
        read_head(content)
