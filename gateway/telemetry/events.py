"""Events as log lines of their own, each written once, on the change (operations.md section 3)."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import msgspec
import structlog

from gateway.telemetry.changes import Change, ChangeKind
from gateway.telemetry.lines import LineWriter

LEVELS: Mapping[ChangeKind, str] = MappingProxyType(
    {
        ChangeKind.INSTANCE_EJECTED: "error",
        ChangeKind.INSTANCE_DRIFTED: "error",
        ChangeKind.VERSION_UNSERVED: "error",
        ChangeKind.DOCUMENT_REJECTED: "error",
        ChangeKind.REMOVALS_HELD: "error",
        ChangeKind.SOURCE_FAILED: "error",
        ChangeKind.INSTANCE_SUSPECT: "warning",
        ChangeKind.INSTANCE_UNVERIFIED: "warning",
        ChangeKind.INSTANCE_NOTED: "warning",
        ChangeKind.INSTANCE_DOWN: "warning",
        ChangeKind.PANIC_BEGAN: "warning",
        ChangeKind.CANARY_RETURNED: "warning",
        ChangeKind.DOCUMENT_MISSING: "warning",
        ChangeKind.DOCUMENT_REMOVED: "warning",
        ChangeKind.CATALOGUE_DOUBTED: "warning",
        ChangeKind.REGISTRATION_ODD: "warning",
    }
)
"""All others are `info`."""


class EventLog:
    """Writes events through a line writer, JSON or readable text.

    Args:
        lines: Shared with the access log.
        console: Text for people in place of JSON.
        colours: Colour the text; the caller knows the terminal and `NO_COLOR`.
        gateway: Name of this gateway, on every line: one replica's view is not the state of production.
    """

    def __init__(self, lines: LineWriter, *, console: bool, gateway: str, colours: bool = False) -> None:
        self._lines = lines
        self._shared: list[structlog.typing.Processor] = [
            structlog.stdlib.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="ts"),
            structlog.processors.format_exc_info,
        ]
        self._renderer: Any = structlog.processors.JSONRenderer(serializer=_to_json)
        if console:
            self._renderer = structlog.dev.ConsoleRenderer(
                colors=colours, timestamp_key="ts", exception_formatter=_plain
            )
            self._shared.pop()  # this renderer writes exceptions itself
        self._log: Any = structlog.wrap_logger(
            _Sink(lines), processors=[*self._shared, self._renderer], wrapper_class=structlog.stdlib.BoundLogger
        ).bind(gateway=gateway)

    def change(self, change: Change) -> None:
        """Write one change; a `Listener`."""
        facts = {name: value for name, value in _fields(change) if value not in (None, "")}
        getattr(self._log, LEVELS.get(change.kind, "info"))(change.kind.value, **facts)

    def write(self, event: str, *, level: str = "info", error: BaseException | None = None, **facts: Any) -> None:
        """Write one event that is no change of state; `error` adds its traceback."""
        if error is not None:
            facts["exc_info"] = error
        getattr(self._log, level)(event, **facts)

    def handler(self) -> logging.Handler:
        """Make a handler that brings the standard library's loggers (uvicorn's, httpx's) through the same form."""
        handler = _LineHandler(self._lines)
        handler.setFormatter(
            structlog.stdlib.ProcessorFormatter(
                foreign_pre_chain=self._shared,
                processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, self._renderer],
            )
        )
        return handler


def _fields(change: Change) -> list[tuple[str, Any]]:
    names = ("generation", "model_id", "version", "instance", "key", "reason", "source", "dna", "digest")
    return [(name, getattr(change, name)) for name in names]


def _to_json(event: Any, **_: Any) -> str:
    """Encode an event, its first members in the order of the access log."""
    first = {name: event[name] for name in ("ts", "level", "event") if name in event}
    return msgspec.json.encode(first | event, enc_hook=str).decode("utf-8")


def _plain(stream: Any, exc_info: Any) -> None:
    structlog.dev.plain_traceback(stream, exc_info)


class _Sink:
    """What structlog calls a logger: every level writes the finished line."""

    def __init__(self, lines: LineWriter) -> None:
        self._lines = lines

    def _put(self, line: str) -> None:
        self._lines.put(_utf8(line))

    debug = info = warning = error = critical = _put


class _LineHandler(logging.Handler):
    def __init__(self, lines: LineWriter) -> None:
        super().__init__()
        self._lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        self._lines.put(_utf8(self.format(record)))


def _utf8(line: str) -> bytes:
    return f"{line}\n".encode("utf-8", "backslashreplace")
