"""An operator's desk: a folder of documents, a prefix of a real Consul, and the `dna` command between the two."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.command import Run
from tests.support.consul import ConsulAgent
from tests.support.control import contract

ROUTE = """\
# who owns this: team m
model_id: m
default: "^1.0 <1.1"   # the old one
canary_rules:
  - version: v1.1.0
    traffic_percentage: 5   # percent
"""
OLD, NEW = "contracts/m/v1.0.0", "contracts/m/v1.1.0"


class Desk:
    """An operator's folder, and a prefix of Consul of its own."""

    def __init__(self, consul: ConsulAgent, prefix: str, folder: Path, dna: Run) -> None:
        self.consul, self.prefix, self.folder, self.dna = consul, prefix, folder, dna

    def put(self, key: str, text: str) -> None:
        """By hand, as in Consul's own page."""
        self.consul.put(f"{self.prefix}/{key}", text)

    def text(self, key: str) -> str | None:
        value = self.consul.get(f"{self.prefix}/{key}")
        return None if value is None else value.decode()

    def index(self, key: str) -> int:
        found: int = self.consul.entry(f"{self.prefix}/{key}")["ModifyIndex"]
        return found

    def good(self, *arguments: object) -> str:
        code, out, err = self.dna(*arguments)
        assert code == 0, err
        return out

    def told(self, *arguments: object) -> Any:
        return json.loads(self.good(*arguments, "-o", "json"))

    def file(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def fleet(self) -> Path:
        """Two contracts and a route, in a folder laid out like the keys."""
        self.file("docs/contracts/m/v1.0.0.json", contract("v1.0.0", "http://10.0.0.7:9000"))
        self.file("docs/contracts/m/v1.1.0.json", contract("v1.1.0", "http://10.0.0.8:9000"))
        self.file("docs/routes/m.yaml", ROUTE)
        return self.folder / "docs"
