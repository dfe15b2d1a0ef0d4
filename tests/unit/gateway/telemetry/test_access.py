from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from typing import Any

import pytest

from gateway.telemetry.access import AccessLog, AccessRecord, encode_text

AT = datetime(2025, 1, 31, 12, 0, 0, 123_000, tzinfo=UTC)


def record(**fields: Any) -> AccessRecord:
    values: dict[str, Any] = {
        "ts": AT,
        "request_id": "r-1",
        "method": "POST",
        "path": "/generate",
        "status": 200,
        "duration_ms": 12.34,
        **fields,
    }
    return AccessRecord(**values)


FULL = record(
    model_id="m",
    requested="^2.4",
    version="v2.4.0",
    route_reason="range",
    dna="a1b2c3d49f8e7d6c",
    digest="sha256:" + "a" * 64,
    input_hash="b" * 64,
    gpu_name="NVIDIA A100",
    instance="10.0.0.1:8000",
    attempts=2,
    generation=7,
    bytes_in=10,
    bytes_out=20,
    ttfb_ms=5.0,
    client="10.9.9.9",
)


FIELDS = (
    "ts level event request_id method path model_id requested version route_reason dna digest input_hash gpu_name "
    "instance attempts generation status code bytes_in bytes_out ttfb_ms duration_ms client"
)


def test_a_record_is_one_line_of_json_with_the_names_of_the_reference() -> None:
    stream = io.BytesIO()
    log = AccessLog(stream, console=False)
    log.write([FULL])
    log.close()
    (line,) = stream.getvalue().splitlines()

    assert " ".join(json.loads(line)) == FIELDS
    assert json.loads(line)["ts"] == "2025-01-31T12:00:00.123000Z"
    assert json.loads(line)["event"] == "request"


def test_on_a_terminal_it_is_one_line_of_text() -> None:
    stream = io.BytesIO()
    log = AccessLog(stream, console=True)
    log.write([FULL])
    log.close()

    assert stream.getvalue().decode() == (
        "12:00:00.123 200 POST /generate m@v2.4.0 range dna=a1b2c3d49f8e7d6c 10.0.0.1:8000 attempts=2 12.3ms r-1\n"
    )


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        pytest.param({"status": 404, "code": "model_not_found"}, "404 model_not_found POST /generate -", id="an-error"),
        pytest.param({"model_id": "m"}, "200 POST /generate m 12.3ms", id="no-version"),
        pytest.param({"path": "/a\x1b[2J\n"}, r"/a\x1b[2J\n", id="text-that-would-move-the-cursor"),
        pytest.param({"path": "/\udcff"}, r"/\udcff", id="bytes-that-are-no-text"),
    ],
)
def test_text_says_what_there_is(fields: dict[str, Any], text: str) -> None:
    assert text in encode_text(record(**fields)).decode()


def test_bytes_of_a_client_that_are_no_text_do_not_cost_the_record() -> None:
    stream = io.BytesIO()
    log = AccessLog(stream, console=False)
    log.write([FULL, record(path="/\udcff")])
    log.close()

    assert [json.loads(line)["path"] for line in stream.getvalue().splitlines()] == [FULL.path, "/\\udcff"]
    assert log.lines.dropped == 0


@pytest.mark.parametrize("field", ["model_id", "version", "path", "request_id", "dna", "instance"])
def test_nothing_a_client_or_a_worker_says_breaks_a_line_of_text_or_moves_the_cursor(field: str) -> None:
    forged = "m\n11:00:00 200 GET /forged\x1b[31m\u2028\u202e\x7f\t"

    text = encode_text(record(**{field: forged})).decode()

    assert text.isprintable()
    assert "forged" in text
