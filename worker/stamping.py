"""Stamps what the library's middleware cannot: the HTTP server's own refusal of malformed HTTP.

Everything that reaches the application is stamped by `inference_dna.middleware`; a request that cannot be read never
does.
"""

from __future__ import annotations

import json
from http import HTTPStatus

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from inference_dna.serving.asgi import raw
from inference_dna.serving.problem import MEDIA_TYPE, problem_document
from inference_dna.serving.standing import Standing


def stamping_protocol(standing: Standing) -> type[HttpToolsProtocol]:
    """Make the HTTP protocol whose refusal carries the headers of the moment; none while nothing is measured."""

    class StampingProtocol(HttpToolsProtocol):
        def send_400_response(self, msg: str) -> None:
            # What was read of the target by then; nothing of a request whose first line was not.
            target = (getattr(self, "url", None) or b"").decode("latin-1").partition("?")[0]
            problem = problem_document(HTTPStatus.BAD_REQUEST, "bad_request", msg, path=target)
            body = json.dumps(problem).encode()
            headers = [
                *raw(standing.headers()),
                (b"content-type", MEDIA_TYPE.encode()),
                (b"content-length", str(len(body)).encode()),
                (b"connection", b"close"),
            ]
            head = b"".join([name + b": " + value + b"\r\n" for name, value in headers])
            self.transport.write(b"HTTP/1.1 400 Bad Request\r\n" + head + b"\r\n" + body)
            self.transport.close()

    return StampingProtocol
