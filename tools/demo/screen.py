"""What `make run` prints when the fleet is ready."""

from __future__ import annotations

from collections.abc import Sequence

from tools.demo.documents import MODEL, STABLE
from tools.demo.fleet import Fleet
from tools.demo.standing import Standing

JSON_BODY = "-H 'Content-Type: application/json' -d"


def ready_text(fleet: Fleet, seen: Sequence[Standing]) -> str:
    """Write addresses, the table of instances, and three requests to paste."""
    return "\n".join(
        [
            "",
            f"  requests   {fleet.url}",
            f"  operators  {fleet.admin_url}  (/status /explain /metrics /docs)",
            f"  documents  {fleet.folder.documents}  (edit them: the gateway sees it within a second)",
            "",
            *_table(fleet, seen),
            "",
            "Paste these into another terminal:",
            "",
            *(f"  {line}" for line in curl_lines(fleet.url, fleet.admin_url)),
            "",
            "Ctrl-C stops all of it. Requests appear below.",
            "",
        ]
    )


def curl_lines(url: str, admin_url: str) -> list[str]:
    """Write three requests: one pinned by path, one by a range, and the question why."""
    return [
        f'curl -i {url}/{STABLE}/generate {JSON_BODY} \'{{"text": "我的包裹怎么还没到"}}\'',
        f"curl -i {url}/generate -H 'X-Model-Preference: ~2.3' {JSON_BODY} '{{\"text\": \"where is my refund\"}}'",
        f"curl -s '{admin_url}/explain?model={MODEL}&preference={STABLE}'",
    ]


def _table(fleet: Fleet, seen: Sequence[Standing]) -> list[str]:
    by_url = {standing.url: standing for standing in seen}
    rows = [("WORKER", "ADDRESS", "DNA", "STATE", "")]
    for worker in fleet.workers:
        standing = by_url[worker.url]
        state = f"{standing.identity}, {standing.liveness}"
        address = worker.url.removeprefix("http://")
        rows.append((worker.member.name, address, standing.dna, state, standing.cause))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    return ["  " + "  ".join([*map(str.ljust, row, widths), row[-1]]).rstrip() for row in rows]
