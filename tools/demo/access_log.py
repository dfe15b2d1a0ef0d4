"""The gateway's access records, read back from its log by request id."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

DEADLINE_S = 5.0
POLL_S = 0.1

Record = Mapping[str, Any]


async def records_of(log: Path, request_ids: Collection[str]) -> list[Record]:
    """Find the records of these requests.

    Args:
        log: The gateway's log, one JSON object per line; other lines than access records are passed over.
        request_ids: As the answers carried them.

    Raises:
        TimeoutError: The gateway, which writes a moment after it answers, did not write them all.
    """
    async with asyncio.timeout(DEADLINE_S):
        while True:
            found = [
                record
                for record in records(await asyncio.to_thread(log.read_bytes))
                if record["request_id"] in request_ids
            ]
            if len(found) >= len(request_ids):
                return found
            await asyncio.sleep(POLL_S)


def records(written: bytes) -> list[Record]:
    """Take the access records out of a log that may end within a line."""
    whole = written[: written.rfind(b"\n") + 1]
    objects = [json.loads(line) for line in whole.splitlines() if line.startswith(b"{")]
    return [one for one in objects if one.get("event") == "request"]
