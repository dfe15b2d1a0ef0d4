"""Problem documents, dressed for the API family that asked."""

from __future__ import annotations

import json
from typing import Any

import pytest

from contracts.version import Version
from gateway.proxy.problem import TITLES, Family, Problem, document, encode, malformed, method_not_allowed, refuse
from gateway.routing.decision import Rejection

PROBLEM = Problem(
    503,
    "no_verified_instance",
    "m v1.0.0 cannot answer now.",
    rejected=(Rejection("v1.0.0", "i-1", "ejected: digest differs"),),
)


def dressed(problem: Problem, family: Family) -> dict[str, Any]:
    written = encode(document(problem, family=family, request_id="r-1", path="/x"))
    value: dict[str, Any] = json.loads(written)
    return value


COMMON = {
    "type": "urn:inference-gateway:no_verified_instance",
    "title": "No verified instance",
    "status": 503,
    "detail": "m v1.0.0 cannot answer now.",
    "instance": "/x",
    "code": "no_verified_instance",
    "request_id": "r-1",
    "rejected": [{"version": "v1.0.0", "instance": "i-1", "reason": "ejected: digest differs"}],
}


def test_the_same_members_for_everybody() -> None:
    assert dressed(PROBLEM, Family.PLAIN) == COMMON


def test_openai_clients_read_an_object() -> None:
    assert dressed(PROBLEM, Family.OPENAI) == COMMON | {
        "error": {
            "message": "m v1.0.0 cannot answer now.",
            "type": "server_error",
            "param": None,
            "code": "no_verified_instance",
        }
    }


def test_open_inference_clients_read_text() -> None:
    assert dressed(PROBLEM, Family.OPEN_INFERENCE) == COMMON | {
        "error": "no_verified_instance: m v1.0.0 cannot answer now."
    }


@pytest.mark.parametrize(
    ("status", "kind"),
    [(400, "invalid_request_error"), (404, "invalid_request_error"), (429, "rate_limit_error"), (502, "server_error")],
)
def test_types_of_openai(status: int, kind: str) -> None:
    assert dressed(Problem(status, "saturated", "x"), Family.OPENAI)["error"]["type"] == kind


def test_what_there_is_instead() -> None:
    problem = Problem(410, "version_retired", "x", available=("v2.0.0",), successor=Version.parse("2.0.0"))

    assert dressed(problem, Family.PLAIN)["available"] == ["v2.0.0"]
    assert dressed(problem, Family.PLAIN)["successor"] == "v2.0.0"


@pytest.mark.parametrize("code", sorted(TITLES))
def test_every_code_has_a_title_for_people(code: str) -> None:
    assert dressed(Problem(400, code, "x"), Family.PLAIN)["title"][0].isupper()


def test_refusals() -> None:
    assert refuse(400, "bad_request", "x").close
    assert not refuse(400, "bad_request", "x", close=False).close
    assert malformed("x").problem == Problem(400, "bad_request", "x")
    assert malformed("x").close
    assert method_not_allowed("TRACE").problem.allow == "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"
