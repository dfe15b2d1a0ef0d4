"""Finds the end of an answer in a stream of bytes: enough HTTP for answers that are known to be small and whole."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Complete:
    """One whole answer: its status, and whether the server keeps the connection."""

    status: int
    keeps: bool


def complete(data: bytes) -> Complete | None:
    """Say whether the bytes are one whole answer; None while some are missing."""
    head, blank, body = data.partition(b"\r\n\r\n")
    if not blank:
        return None
    lowered = head.lower()
    if b"transfer-encoding: chunked" in lowered:
        if not body.endswith(b"0\r\n\r\n"):
            return None
    elif len(body) < _length(lowered):
        return None
    return Complete(int(head[9:12]), b"connection: close" not in lowered)


def _length(lowered_head: bytes) -> int:
    _, found, rest = lowered_head.partition(b"content-length:")
    return int(rest.partition(b"\r\n")[0]) if found else 0
