"""Server-sent events (WHATWG HTML, section 9.2)."""

from __future__ import annotations

import json
from collections.abc import Mapping

from worker.problem import Problem

MEDIA_TYPE = "text/event-stream"


def event(data: Mapping[str, object], name: str = "") -> bytes:
    """Write one event; without a name it is what the standard calls a message."""
    # JSON has no bare line ends, so the data is always one line.
    line = f"data: {json.dumps(data, ensure_ascii=False)}\n\n"
    return (f"event: {name}\n{line}" if name else line).encode()


def error_event(problem: Problem, path: str) -> bytes:
    """Write the event that says why the rest of a stream is missing (clients.md section 5).

    Args:
        problem: What happened.
        path: That of the request: clients below `/v1` and `/v2` read the member `error`, others the whole problem.
    """
    document = problem.document(path)
    return event({"error": document["error"]}) if "error" in document else event(document, "error")
