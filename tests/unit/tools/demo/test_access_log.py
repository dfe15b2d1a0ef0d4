import asyncio
import json
from pathlib import Path

import pytest

from tools.demo.access_log import records, records_of


def line(request_id: str, instance: str | None = "127.0.0.1:9000") -> bytes:
    return json.dumps({"event": "request", "request_id": request_id, "instance": instance}).encode() + b"\n"


def test_events_words_and_a_half_written_line_are_passed_over() -> None:
    log = b'starting\n{"event": "instance_ejected"}\n' + line("a") + line("b")[:-5]

    assert [record["request_id"] for record in records(log)] == ["a"]


def test_only_the_requests_asked_for_are_found(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(line("a") + line("other") + line("b", None))

    found = asyncio.run(records_of(log, {"a", "b"}))

    assert [record["instance"] for record in found] == ["127.0.0.1:9000", None]


def test_records_that_never_come_are_not_taken_for_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.demo.access_log.DEADLINE_S", 0.3)
    log = tmp_path / "log"
    log.write_bytes(line("a"))

    with pytest.raises(TimeoutError):
        asyncio.run(records_of(log, {"a", "b"}))
