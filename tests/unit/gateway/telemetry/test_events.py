from __future__ import annotations

import io
import json
import logging
from typing import Any

import pytest

from gateway.telemetry.changes import Change, ChangeKind, fan_out
from gateway.telemetry.events import LEVELS, EventLog
from gateway.telemetry.lines import LineWriter

EJECTED = Change(
    ChangeKind.INSTANCE_EJECTED,
    7,
    model_id="m",
    version="v1.0.0",
    instance="10.0.0.1:8000",
    reason="digest differs",
    source="response",
    dna="a1b2c3d49f8e7d6c",
)


class Log:
    """An event log and what it wrote."""

    def __init__(self, *, console: bool = False) -> None:
        self._stream = io.BytesIO()
        self._lines = LineWriter(self._stream, flush_s=0.005)
        self.events = EventLog(self._lines, console=console, gateway="gw-1")

    def text(self) -> str:
        self._lines.close()
        return self._stream.getvalue().decode()

    def written(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.text().splitlines()]


def test_a_change_is_one_json_line_with_what_is_known_of_it() -> None:
    log = Log()
    log.events.change(EJECTED)
    (line,) = log.written()

    assert line.pop("ts").endswith("Z")
    assert line == {
        "gateway": "gw-1",
        "generation": 7,
        "model_id": "m",
        "version": "v1.0.0",
        "instance": "10.0.0.1:8000",
        "reason": "digest differs",
        "source": "response",
        "dna": "a1b2c3d49f8e7d6c",
        "event": "instance_ejected",
        "level": "error",
    }


@pytest.mark.parametrize("kind", list(ChangeKind))
def test_every_kind_of_change_can_be_written(kind: ChangeKind) -> None:
    log = Log()
    log.events.change(Change(kind, 1))
    (line,) = log.written()

    assert (line["event"], line["level"]) == (kind.value, LEVELS.get(kind, "info"))


def test_on_a_terminal_it_is_text_without_escapes() -> None:
    log = Log(console=True)
    log.events.change(EJECTED)
    text = log.text()

    assert "instance_ejected" in text
    assert "reason='digest differs'" in text
    assert "\x1b" not in text


@pytest.mark.parametrize("console", [False, True])
def test_a_fault_of_ours_brings_its_traceback(console: bool) -> None:
    log = Log(console=console)
    try:
        int("what went wrong")
    except ValueError as error:
        log.events.write("probe_fault", level="error", error=error, key=("m", "v1.0.0"))
    text = log.text()

    assert "probe_fault" in text
    assert "what went wrong" in text
    assert "Traceback" in text


def test_loggers_of_the_standard_library_take_the_same_form() -> None:
    log = Log()
    logger = logging.getLogger("test.uvicorn")
    logger.propagate = False
    logger.addHandler(handler := log.events.handler())
    logger.warning("listening on %s", "127.0.0.1")
    logger.removeHandler(handler)
    (line,) = log.written()

    assert (line["event"], line["level"]) == ("listening on 127.0.0.1", "warning")
    assert "ts" in line


def test_a_change_reaches_every_listener_in_order() -> None:
    heard: list[str] = []
    tell = fan_out(lambda change: heard.append("first"), lambda change: heard.append("second"))
    tell(EJECTED)

    assert heard == ["first", "second"]
