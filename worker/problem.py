"""Errors as the client sees them: problem+json (RFC 9457)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response


@dataclass(frozen=True, slots=True)
class FieldFault:
    """One thing that is wrong in a request, by the field that has it; `body` is the whole."""

    field: str
    message: str


class Problem(Exception):
    """An answer that is an error.

    Args:
        status: HTTP status.
        code: What programs tell errors apart by.
        detail: A sentence that says what to do.
        faults: What is wrong in the request, field by field.
        retry_s: Seconds after which another try makes sense, None where it never does.
    """

    def __init__(
        self,
        status: HTTPStatus,
        code: str,
        detail: str,
        *,
        faults: Sequence[FieldFault] = (),
        retry_s: int | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.faults = tuple(faults)
        self.retry_s = retry_s

    def document(self, path: str) -> dict[str, object]:
        """The body; `path` is that of the request."""
        body: dict[str, object] = {
            "type": f"urn:inference-worker:{self.code}",
            "title": self.status.phrase,
            "status": self.status.value,
            "detail": self.detail,
            "instance": path,
            "code": self.code,
        }
        if self.faults:
            body["errors"] = [{"field": fault.field, "message": fault.message} for fault in self.faults]
        return body


def answer_errors(app: FastAPI) -> None:
    """Make every error of an application a problem."""
    app.add_exception_handler(Problem, _on_problem)
    app.add_exception_handler(HTTPException, _on_http_exception)
    app.add_exception_handler(ClientDisconnect, _on_disconnect)
    app.add_exception_handler(Exception, _on_failure)


async def _on_problem(request: Request, error: Exception) -> Response:
    if not isinstance(error, Problem):
        raise error
    return _response(error, request)


async def _on_http_exception(request: Request, error: Exception) -> Response:
    """The framework's own: no such path, no such method there."""
    if not isinstance(error, HTTPException):
        raise error
    status = HTTPStatus(error.status_code)
    code = status.name.lower()
    detail = f"{request.method} {request.url.path} is nothing this worker answers."
    return _response(Problem(status, code, detail), request, error.headers)


async def _on_disconnect(_request: Request, _error: Exception) -> Response:
    # Nobody reads this; it only ends the exchange without calling it our failure.
    return Response(status_code=HTTPStatus.BAD_REQUEST.value)


async def _on_failure(request: Request, _error: Exception) -> Response:
    # The server logs the error itself; the client is told nothing of our inside.
    problem = Problem(HTTPStatus.INTERNAL_SERVER_ERROR, "internal_error", "The worker failed on this request.")
    return _response(problem, request)


def _response(problem: Problem, request: Request, headers: Mapping[str, str] | None = None) -> Response:
    retry = {} if problem.retry_s is None else {"Retry-After": str(problem.retry_s)}
    return JSONResponse(
        problem.document(request.url.path),
        problem.status.value,
        headers={**(headers or {}), **retry},
        media_type="application/problem+json",
    )
