"""Ours, as its wheel ships it, with every feature on: routing by range, identity check, stamps, metrics, records."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench import identity
from bench.ask import ask
from bench.peers.peer import Launch, Peer, Site, said_version
from bench.places import ROOT
from bench.processes import StartError
from bench.work import DEFAULT_SELECTOR, MODEL, VERSION
from tools import compiled

NAME = "dna-gateway"
STAMPS = (
    "x-inference-dna", "x-inference-digest", "x-model-id", "x-model-version", "x-model-requested", "x-route-reason",
    "x-route-attempts", "x-config-generation", "x-request-id",
)  # fmt: skip
"""What every answer of ours carries (design section 7)."""
PROBE_INTERVAL_S = 5.0
"""The gateway's own default."""


def write_contract(folder: Path, model_id: str, instances: Sequence[str]) -> None:
    """Write the contract and the route of one model whose workers are these base URLs."""
    contract = {
        "model_id": model_id,
        "version": VERSION,
        "contract": {},
        "dna": [identity.accepted()],
        "instances": list(instances),
        # 128 connections onto one listener must not meet the limit that protects a GPU.
        "limits": {"max_in_flight": 4096},
    }
    _write(folder / "contracts" / model_id / f"{VERSION}.json", contract)
    _write(folder / "routes" / f"{model_id}.json", {"model_id": model_id, "default": DEFAULT_SELECTOR})


def command(site: Site, program: Path, *, probe_interval_s: float = PROBE_INTERVAL_S) -> list[str]:
    """The gateway's command line over the documents in the site's folder."""
    return [
        str(program), "-m", "gateway.cli.main", "gateway", "--source", f"file:{site.folder}", "--host", "127.0.0.1",
        "--port", str(site.port), "--admin-port", str(site.spare_port), "--probe-interval", str(probe_interval_s),
    ]  # fmt: skip


def check_features(port: int) -> None:
    """See on one answer that nothing is switched off.

    Raises:
        StartError: A stamp is missing.
    """
    answer = ask(port)
    missing = [name for name in STAMPS if name not in answer.headers]
    if missing:
        raise StartError(f"an answer of status {answer.status} lacks the stamps {', '.join(missing)}")


def _launch(site: Site, program: Path) -> Launch:
    write_contract(site.folder, MODEL, site.upstreams)
    return Launch(command(site, program), compiled.environment(compiled.build()))


def _write(path: Path, document: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document))


def _program() -> Path | None:
    return Path(sys.executable) if (ROOT / "gateway" / "cli" / "main.py").exists() else None


GATEWAY = Peer(
    name=NAME,
    program=_program,
    hint="run inside the repository",
    launch=_launch,
    version=said_version("-m", "gateway.cli.main", "--version", prefix="dna "),
)
