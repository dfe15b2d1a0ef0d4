"""The byte cases of `tests/vectors/http_cases.json`, as values (format: http.md section 7)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_FILE = Path(__file__).parents[1] / "vectors" / "http_cases.json"


@dataclass(frozen=True)
class HttpCase:
    """One connection: what is sent on it, and what may come back."""

    id: str
    segments: tuple[bytes, ...]
    gap_s: float
    wait_s: float
    statuses: frozenset[int | str]
    interim: frozenset[int]
    close: bool | None
    responses: int
    never_seen_by_worker: tuple[bytes, ...]
    never_in_first_response: tuple[bytes, ...]


def http_cases() -> list[HttpCase]:
    """All cases, in the order of the file."""
    return [_case(case) for case in json.loads(_FILE.read_text(encoding="utf-8"))]


def _case(case: dict[str, Any]) -> HttpCase:
    expect = case["expect"]
    return HttpCase(
        id=case["id"],
        segments=tuple(_segment(segment) for segment in case["segments"]),
        gap_s=case.get("gap_ms", 0) / 1000,
        wait_s=case.get("wait_ms", 2000) / 1000,
        statuses=frozenset(expect["status"]),
        interim=frozenset(expect.get("interim", ())),
        close=expect.get("close"),
        responses=expect["responses"],
        never_seen_by_worker=_bytes(expect.get("never_seen_by_worker", ())),
        never_in_first_response=_bytes(expect.get("never_in_first_response", ())),
    )


def _segment(segment: str | list[str | dict[str, Any]]) -> bytes:
    parts = [segment] if isinstance(segment, str) else segment
    return "".join(part if isinstance(part, str) else part["repeat"] * part["times"] for part in parts).encode(
        "latin-1"
    )


def _bytes(texts: Any) -> tuple[bytes, ...]:
    return tuple(text.encode("latin-1") for text in texts)
