from __future__ import annotations

from http import HTTPStatus

from worker.problem import Problem
from worker.surface.events import error_event, event

FAILED = Problem(HTTPStatus.INTERNAL_SERVER_ERROR, "internal_error", "The worker failed.")


def test_an_event_is_one_line_of_data() -> None:
    assert event({"text": "a\nb，"}) == 'data: {"text": "a\\nb，"}\n\n'.encode()


def test_an_event_may_have_a_name() -> None:
    assert event({"n": 1}, "token") == b'event: token\ndata: {"n": 1}\n\n'


def test_openai_clients_read_the_member_error() -> None:
    assert error_event(FAILED, "/v1/completions") == (
        b'data: {"error": {"message": "The worker failed.", "type": "server_error", "param": null, '
        b'"code": "internal_error"}}\n\n'
    )


def test_open_inference_clients_read_a_text() -> None:
    assert error_event(FAILED, "/v2/models/m/generate_stream") == (
        b'data: {"error": "internal_error: The worker failed."}\n\n'
    )


def test_others_read_the_whole_problem() -> None:
    sent = error_event(FAILED, "/generate_stream")

    assert sent.startswith(b'event: error\ndata: {"type": "urn:inference-worker:internal_error"')
