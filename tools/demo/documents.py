"""The demo's documents: three contracts and one route, in the folder the gateway watches."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

MODEL = "intent-classifier"
STABLE, OLDER, CANARY = "v2.4.0", "v2.3.1", "v2.4.1-rc.1"
CANARY_PERCENTAGE = 5
STICKY_HEADER = "X-User-Id"

ROUTE = f"""\
model_id: {MODEL}
default: "^2.4"
sticky: header:{STICKY_HEADER}
aliases:
  stable: {STABLE}
canary_rules:
  - version: {CANARY}
    traffic_percentage: {CANARY_PERCENTAGE}
"""


def contract(version: str, *, accepted: Sequence[Mapping[str, str]], instances: Sequence[str]) -> dict[str, Any]:
    """Write the contract of one version.

    Args:
        version: With `v`.
        accepted: The runtimes it accepts, as `enrol.accepted_entry` writes them.
        instances: Base URLs.
    """
    return {
        "model_id": MODEL,
        "version": version,
        "contract": {
            "input_schema": {"text": "string"},
            "output_schema": {"intent": "string", "confidence": "float"},
            "behavioral_constraints": {"deterministic": True},
        },
        "dna": list(accepted),
        "instances": list(instances),
    }


def write_documents(folder: Path, contracts: Sequence[Mapping[str, Any]]) -> None:
    """Write these contracts and the route into an empty folder."""
    for document in contracts:
        text = json.dumps(document, indent=2, ensure_ascii=False)
        _write(folder / "contracts" / document["model_id"] / f"{document['version']}.json", f"{text}\n")
    _write(folder / "routes" / f"{MODEL}.yaml", ROUTE)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
