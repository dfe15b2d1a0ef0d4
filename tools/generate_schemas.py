"""Write the JSON Schemas of contract and route documents to `contracts/schema/`.

    python tools/generate_schemas.py            write them
    python tools/generate_schemas.py --check    write nothing, exit 1 where a file is not what would be written

They are for editors and for people. What only a reader of the whole document sees (a strand that does not follow from
its digest, percentages over 100 in sum) is not in them.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import BaseModel

from contracts.contract import Contract
from contracts.route import Route
from contracts.schemas import DIALECT

FOLDER = Path(__file__).resolve().parent.parent / "contracts" / "schema"
MODELS: Mapping[str, type[BaseModel]] = {"contract.schema.json": Contract, "route.schema.json": Route}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the answer is its exit code."""
    parser = argparse.ArgumentParser(description="Write the JSON Schemas of contract and route documents.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where a file is stale")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the files are (default: contracts/schema)")
    options = parser.parse_args(arguments)
    if not options.check:
        write(options.folder)
        return 0
    stale = find_stale(options.folder)
    for name in stale:
        print(f"{options.folder / name} is stale; run python tools/generate_schemas.py", file=sys.stderr)
    return 1 if stale else 0


def write(folder: Path) -> None:
    """Write every schema."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, model in MODELS.items():
        (folder / name).write_text(generate(model), encoding="utf-8")


def find_stale(folder: Path) -> list[str]:
    """Name the files that are missing or are not what would be written."""
    return [name for name, model in MODELS.items() if _read(folder / name) != generate(model)]


def generate(model: type[BaseModel]) -> str:
    """Make the text of one schema, the same on every machine."""
    schema = {"$schema": DIALECT, **model.model_json_schema(by_alias=True)}
    return json.dumps(schema, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.is_file() else ""


if __name__ == "__main__":
    raise SystemExit(main())
