from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.records import Records


def test_records_are_counted_and_their_memory_given_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.records.FLUSH_S", 0)
    log = tmp_path / "log"
    records = Records(log)

    log.write_text('{"request_id": "of the warm-up"}\n')
    records.forget()
    with log.open("ab") as gateway:
        for requests in (3, 1):
            lines = [json.dumps({"event": "started"})] + [json.dumps({"request_id": str(n)}) for n in range(requests)]
            gateway.write(("\n".join(lines) + "\n").encode())
            gateway.flush()
            records.took(requests)
            assert log.stat().st_size == 0

    assert records.per_request == 1.0


def test_without_requests_there_is_no_share(tmp_path: Path) -> None:
    assert Records(tmp_path / "log").per_request is None
