"""Errors as clients see them: problem+json (RFC 9457), dressed for the family of the path (clients.md section 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from inference_dna.serving.problem import MEDIA_TYPE, problem_document
from worker.backend import IsolationBroken
from worker.fault import FieldFault, RequestRefused
from worker.lane import Saturated

RETRY_S = 1


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
        field = self.faults[0].field if self.faults else None
        body: dict[str, object] = {**problem_document(self.status, self.code, self.detail, path=path, field=field)}
        if self.faults:
            body["errors"] = [{"field": fault.field, "message": fault.message} for fault in self.faults]
        return body


def problem_of(error: Exception) -> Problem:
    """Say what a client is told of an error; of a failure of ours it is told nothing of our inside."""
    match error:
        case Problem():
            return error
        case RequestRefused():
            return Problem(HTTPStatus.UNPROCESSABLE_ENTITY, "invalid_request", str(error), faults=error.faults)
        case Saturated():
            detail = "Every place of this worker is taken; try again."
            return Problem(HTTPStatus.TOO_MANY_REQUESTS, "saturated", detail, retry_s=RETRY_S)
        case IsolationBroken():
            detail = "Another request may have changed this answer, so it is not given; ask another worker."
            faults = [FieldFault(error.field, error.change)]
            return Problem(HTTPStatus.INTERNAL_SERVER_ERROR, "isolation_broken", detail, faults=faults)
        case _:
            detail = "The worker failed on this request."
            return Problem(HTTPStatus.INTERNAL_SERVER_ERROR, "internal_error", detail)


def answer_errors(app: FastAPI) -> None:
    """Make every error of an application a problem."""
    for kind in (Problem, RequestRefused, Saturated, IsolationBroken, Exception):
        app.add_exception_handler(kind, _on_error)
    app.add_exception_handler(HTTPException, _on_http_exception)
    app.add_exception_handler(ClientDisconnect, _on_disconnect)


async def _on_error(request: Request, error: Exception) -> Response:
    # Of what is none of the others the server logs the error itself.
    return _response(problem_of(error), request)


async def _on_http_exception(request: Request, error: Exception) -> Response:
    """The framework's own: no such path, no such method there."""
    if not isinstance(error, HTTPException):
        raise error
    status = HTTPStatus(error.status_code)
    code = status.name.lower()
    detail = f"{request.method} {request.scope['path']} is nothing this worker answers."
    return _response(Problem(status, code, detail), request, error.headers)


async def _on_disconnect(_request: Request, _error: Exception) -> Response:
    # Nobody reads this; it only ends the exchange without calling it our failure.
    return Response(status_code=HTTPStatus.BAD_REQUEST.value)


def _response(problem: Problem, request: Request, headers: Mapping[str, str] | None = None) -> Response:
    retry = {} if problem.retry_s is None else {"Retry-After": str(problem.retry_s)}
    return JSONResponse(
        problem.document(request.scope["path"]),
        problem.status.value,
        headers={**(headers or {}), **retry},
        media_type=MEDIA_TYPE,
    )
