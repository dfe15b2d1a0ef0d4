"""One record per request: the line in which a DNA found anywhere leads back to instance, version and input."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import BinaryIO

import msgspec

from gateway.printable import printable
from gateway.telemetry.lines import LineWriter


class AccessRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What is logged of one request (operations.md section 3); None where it does not apply or was never known.

    No bodies, no tokens, no header dumps.
    """

    ts: datetime
    """When the answer ended, aware, UTC."""
    level: str = "info"
    event: str = "request"
    request_id: str
    method: str
    path: str
    model_id: str | None = None
    requested: str | None = None
    """The selector as sent; `default` when nothing was said."""
    version: str | None = None
    """The version that answered or was resolved, with `v`."""
    route_reason: str | None = None
    dna: str | None = None
    digest: str | None = None
    input_hash: str | None = None
    """All 64 hex, as the worker sent them."""
    gpu_name: str | None = None
    instance: str | None = None
    attempts: int = 0
    generation: int = 0
    status: int
    """HTTP status sent; 499 for a client that left."""
    code: str | None = None
    """Code of the error, where there was one (clients.md section 4)."""
    bytes_in: int = 0
    bytes_out: int = 0
    ttfb_ms: float | None = None
    duration_ms: float
    client: str | None = None


_ENCODER = msgspec.json.Encoder()


def encode_json(records: Sequence[AccessRecord]) -> bytes:
    """Encode records as lines of JSON, fields in the order of the class."""
    try:
        return _ENCODER.encode_lines(records)
    except UnicodeEncodeError:  # bytes of a client that are no text
        return _ENCODER.encode_lines([_readable(record) for record in records])


def _readable(record: AccessRecord) -> dict[str, object]:
    fields = msgspec.structs.asdict(record)
    return {name: printable(value) if isinstance(value, str) else value for name, value in fields.items()}


def encode_text(record: AccessRecord) -> bytes:
    """Write a record as one line for a person at a terminal, without its line feed."""
    named = record.model_id or "-"
    if record.version:
        named = f"{named}@{record.version}"
    parts = [
        record.ts.strftime("%H:%M:%S.") + f"{record.ts.microsecond // 1000:03d}",
        str(record.status),
        record.code or "",
        record.method,
        record.path,
        named,
        record.route_reason or "",
        f"dna={record.dna}" if record.dna else "",
        record.instance or "",
        f"attempts={record.attempts}" if record.attempts > 1 else "",
        f"{record.duration_ms:.1f}ms",
        record.request_id,
    ]
    return " ".join(printable(part) for part in parts if part).encode("utf-8", "backslashreplace")


class AccessLog:
    """Writes access records, JSON or text, from a thread of their own.

    Args:
        stream: Where they go, such as `sys.stdout.buffer`.
        console: Text for people in place of JSON.
        capacity: Records that may wait; more are dropped and counted in `lines.dropped`.
    """

    def __init__(self, stream: BinaryIO, *, console: bool, capacity: int = 16_384) -> None:
        self.lines = LineWriter(stream, capacity=capacity)
        """The writer itself; events share it, so that lines of both never mix."""
        self._console = console

    def write(self, records: Sequence[AccessRecord]) -> None:
        """Queue records; together they cost less than each alone."""
        encoded = b"".join(encode_text(record) + b"\n" for record in records) if self._console else encode_json(records)
        self.lines.put(encoded, len(records))

    def close(self) -> None:
        """Write what waits and stop the thread."""
        self.lines.close()
