from __future__ import annotations

import asyncio
from http import HTTPStatus

import httpx
import pytest
from fastapi import FastAPI
from starlette.requests import ClientDisconnect

from worker.backend import IsolationBroken
from worker.fault import FieldFault, RequestRefused
from worker.lane import Saturated
from worker.problem import Problem, answer_errors, problem_of


def answer(path: str, method: str = "GET") -> httpx.Response:
    """Ask an application whose handlers fail, each in its way."""
    app = FastAPI()
    answer_errors(app)

    @app.get("/problem")
    def problem() -> None:
        faults = [FieldFault("text", "is missing")]
        raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, "invalid_request", "Say it.", faults=faults, retry_s=3)

    @app.get("/bug")
    def bug() -> None:
        raise ZeroDivisionError("the inside")

    @app.get("/gone")
    def gone() -> None:
        raise ClientDisconnect

    async def ask() -> httpx.Response:
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://worker") as client:
            return await client.request(method, path)

    return asyncio.run(ask())


def test_a_problem_is_problem_json() -> None:
    response = answer("/problem")

    assert response.status_code == 422
    assert response.headers["content-type"] == "application/problem+json"
    assert response.headers["retry-after"] == "3"
    assert response.json() == {
        "type": "urn:inference-worker:invalid_request",
        "title": HTTPStatus.UNPROCESSABLE_ENTITY.phrase,
        "status": 422,
        "detail": "Say it.",
        "instance": "/problem",
        "code": "invalid_request",
        "errors": [{"field": "text", "message": "is missing"}],
    }


@pytest.mark.parametrize(
    ("error", "status", "code", "fields"),
    [
        pytest.param(RequestRefused([FieldFault("seed", "is wrong")]), 422, "invalid_request", ["seed"], id="refused"),
        pytest.param(Saturated(), 429, "saturated", [], id="saturated"),
        pytest.param(IsolationBroken("model.x", "changed"), 500, "isolation_broken", ["model.x"], id="isolation"),
        pytest.param(ValueError("the inside"), 500, "internal_error", [], id="a-bug-of-ours"),
    ],
)
def test_every_error_has_one_answer(error: Exception, status: int, code: str, fields: list[str]) -> None:
    problem = problem_of(error)

    assert (problem.status, problem.code, [fault.field for fault in problem.faults]) == (status, code, fields)
    assert "inside" not in problem.detail


def test_only_who_is_full_asks_to_come_again() -> None:
    assert problem_of(Saturated()).retry_s == 1
    assert problem_of(ValueError()).retry_s is None


@pytest.mark.parametrize(
    ("path", "error"),
    [
        pytest.param(
            "/v1/completions",
            {"message": "seed: is wrong", "type": "invalid_request_error", "param": "seed", "code": "invalid_request"},
            id="openai",
        ),
        pytest.param("/v2/models/m/infer", "invalid_request: seed: is wrong", id="open-inference"),
        pytest.param("/generate", None, id="ours"),
    ],
)
def test_each_family_finds_the_error_where_it_looks(path: str, error: object) -> None:
    document = problem_of(RequestRefused([FieldFault("seed", "is wrong")])).document(path)

    assert document.get("error") == error
    assert document["errors"] == [{"field": "seed", "message": "is wrong"}]


@pytest.mark.parametrize(
    ("path", "method", "status", "code"),
    [
        pytest.param("/nope", "GET", 404, "not_found", id="no-such-path"),
        pytest.param("/problem", "POST", 405, "method_not_allowed", id="no-such-method"),
        pytest.param("/bug", "GET", 500, "internal_error", id="a-bug-of-ours"),
    ],
)
def test_the_frameworks_errors_are_problems_too(path: str, method: str, status: int, code: str) -> None:
    response = answer(path, method)

    assert (response.status_code, response.json()["code"]) == (status, code)


def test_allow_stays_on_405() -> None:
    assert answer("/problem", "POST").headers["allow"] == "GET"


def test_a_client_is_told_nothing_of_our_inside() -> None:
    assert "inside" not in answer("/bug").text


def test_a_client_that_left_is_no_failure_of_ours() -> None:
    assert answer("/gone").status_code == 400
