from __future__ import annotations

from http import HTTPStatus
from typing import Any

import pytest

from inference_dna.serving.problem import problem_document

BUSY = HTTPStatus.TOO_MANY_REQUESTS


def document(path: str, status: HTTPStatus = BUSY, **options: Any) -> dict[str, Any]:
    return {**problem_document(status, "saturated", "Come again.", path=path, **options)}


def test_an_error_is_problem_json() -> None:
    assert document("/generate") == {
        "type": "urn:inference-worker:saturated",
        "title": "Too Many Requests",
        "status": 429,
        "detail": "Come again.",
        "instance": "/generate",
        "code": "saturated",
    }


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        pytest.param(HTTPStatus.UNPROCESSABLE_ENTITY, "invalid_request_error", id="422"),
        pytest.param(BUSY, "rate_limit_error", id="429"),
        pytest.param(HTTPStatus.SERVICE_UNAVAILABLE, "server_error", id="503"),
    ],
)
def test_openai_clients_find_their_error(status: HTTPStatus, kind: str) -> None:
    error = document("/v1/completions", status, field="seed")["error"]

    assert error == {"message": "Come again.", "type": kind, "param": "seed", "code": "saturated"}


@pytest.mark.parametrize("path", ["/v2", "/v2/models/m/infer"])
def test_open_inference_clients_find_a_text(path: str) -> None:
    assert document(path)["error"] == "saturated: Come again."


@pytest.mark.parametrize("path", ["/v1", "/v10/x", "/v20/x", "/x/v1/"])
def test_what_only_looks_like_a_family_is_none(path: str) -> None:
    assert "error" not in document(path)
