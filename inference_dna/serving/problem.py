"""Errors as the clients of each API family read them (clients.md section 4).

RFC 9457 for all; below `/v1` the same object has OpenAI's member `error`, below `/v2` that member is text.
"""

from __future__ import annotations

from http import HTTPStatus

from inference_dna.canonical import Json

MEDIA_TYPE = "application/problem+json"

_TYPE = "urn:inference-worker:"


def problem_document(
    status: HTTPStatus, code: str, detail: str, *, path: str, field: str | None = None
) -> dict[str, Json]:
    """Write the body of an error.

    Args:
        status: HTTP status.
        code: What programs tell errors apart by.
        detail: A sentence that says what to do.
        path: That of the request; it decides what clients of its family find beside RFC 9457's members.
        field: The request's member at fault, None where it is not one.
    """
    body: dict[str, Json] = {
        "type": f"{_TYPE}{code}",
        "title": status.phrase,
        "status": status.value,
        "detail": detail,
        "instance": path,
        "code": code,
    }
    if path.startswith("/v1/"):
        body["error"] = {"message": detail, "type": _openai_type(status), "param": field, "code": code}
    elif path == "/v2" or path.startswith("/v2/"):
        body["error"] = f"{code}: {detail}"
    return body


def _openai_type(status: HTTPStatus) -> str:
    if status is HTTPStatus.TOO_MANY_REQUESTS:
        return "rate_limit_error"
    return "server_error" if status >= HTTPStatus.INTERNAL_SERVER_ERROR else "invalid_request_error"
