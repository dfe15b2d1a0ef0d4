from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from inference_dna.attest.answers import Address, Answers, member
from inference_dna.attest.server import Listen
from inference_dna.canonical import Refused

PAGES = {"/ok": (200, b'{"a": {"b": 1}}'), "/broken": (200, b"{"), "/fails": (500, b"out of memory")}


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        status, body = PAGES.get(self.path, (404, b""))
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def answers() -> Iterator[Answers]:
    with HTTPServer(("127.0.0.1", 0), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield Answers(Address("127.0.0.1", server.server_address[1]), 5)
        server.shutdown()
        thread.join()


def test_an_answer_is_read(answers: Answers) -> None:
    assert member(answers.get("/ok"), "a", "b") == 1
    assert member(answers.get("/ok"), "a", "b", "c") is None


def test_a_page_that_does_not_exist_is_nothing(answers: Answers) -> None:
    assert answers.get("/nothing") is None


@pytest.mark.parametrize(("path", "says"), [("/broken", "cannot be read"), ("/fails", "with 500: out of memory")])
def test_a_failure_is_no_absence(answers: Answers, path: str, says: str) -> None:
    with pytest.raises(Refused, match=says):
        answers.get(path)


def test_an_engine_that_is_not_there_does_not_answer() -> None:
    with pytest.raises(Refused, match="does not answer GET /ok"):
        Answers(Address("127.0.0.1", 1), 5).get("/ok")


def test_an_address_is_host_and_port() -> None:
    assert Address.parse("http://127.0.0.1:8000/") == Address("127.0.0.1", 8000)
    for wrong in ("https://a:1", "http://a", "http://a:1/path", "a:1", "http://a:x"):
        with pytest.raises(Refused, match="no address of an engine"):
            Address.parse(wrong)


def test_a_place_to_listen_is_host_and_port() -> None:
    assert Listen.parse(":9100") == Listen("", 9100)
    assert Listen.parse("[::1]:9100") == Listen("::1", 9100)
    for wrong in ("9100", "a", "a:1/x", "a:x", "http://a:1"):
        with pytest.raises(Refused, match="no place to listen"):
            Listen.parse(wrong)
