"""Watches a request's body on its way to the application: its hash, and what it says as an input."""

from __future__ import annotations

from hashlib import sha256

from inference_dna.canonical import Refused
from inference_dna.inputs import hash_bytes, hash_request
from inference_dna.serving.asgi import Message, Receive, Scope, first_value

MOST_KEPT_BYTES = 1024 * 1024
"""A larger body is not hashed as an input: the application must say what it fed to the model."""
_MULTIPART = "multipart/"


class RequestTap:
    """A `receive` that looks at what passes.

    Args:
        receive: Where messages come from.
        scope: The connection scope.
    """

    def __init__(self, receive: Receive, scope: Scope) -> None:
        self._receive = receive
        self._media_type = first_value(scope["headers"], "content-type") or ""
        self._hasher, self._kept, self._size = sha256(), bytearray(), 0
        self.is_complete = _has_no_body(scope)
        """Whether the application has read all of the body; a request without one is complete from the beginning."""

    async def __call__(self) -> Message:
        """Give the next message."""
        message = await self._receive()
        if message["type"] == "http.request":
            self._take(message.get("body", b""))
            self.is_complete = self.is_complete or not message.get("more_body", False)
        return message

    @property
    def sha256(self) -> str:
        """The hash of the body read so far."""
        return self._hasher.hexdigest()

    def input_hash(self) -> str:
        """Hash the body as an input (dna.md section 5); empty where it cannot be one.

        That is: it is not read to its end, empty, too large to keep, JSON that is no strict object, or multipart, whose
        parts only the application knows.
        """
        if not self.is_complete or not self._size or self._size > MOST_KEPT_BYTES:
            return ""
        kind = self._media_type.partition(";")[0].strip().lower()
        if kind.startswith(_MULTIPART):
            return ""
        if kind == "application/json" or kind.endswith("+json"):
            try:
                return hash_request(bytes(self._kept))
            except Refused:
                return ""
        return hash_bytes(self._media_type, bytes(self._kept))

    def _take(self, piece: bytes) -> None:
        self._hasher.update(piece)
        self._size += len(piece)
        if self._size <= MOST_KEPT_BYTES:
            self._kept += piece
        else:
            self._kept.clear()


def _has_no_body(scope: Scope) -> bool:
    """Say whether a request surely has no body; HTTP/2 need not announce one, so there only the method tells."""
    if scope.get("http_version", "1.1").startswith("1"):
        announced = ("content-length", "transfer-encoding")
        return all(first_value(scope["headers"], name) in (None, "0") for name in announced)
    return scope["method"] in ("GET", "HEAD")
