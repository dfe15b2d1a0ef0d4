import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from tools.generate_schemas import FOLDER, MODELS, find_stale, main, write

BARE = {
    "model_id": "bert-base-chinese",
    "version": "v2.4.0",
    "contract": {
        "input_schema": {"text": "string", "max_length": "integer"},
        "hardware_requirements": {"gpu": ["A100"], "cuda": "12.1", "cudnn": "8.9.2"},
        "behavioral_constraints": {"max_input_length": 512, "deterministic": True},
    },
}
ROUTE = {
    "model_id": "bert-base-chinese",
    "default": "^2.4",
    "sticky": "header:X-User-Id",
    "aliases": {"stable": "v2.4.0"},
    "canary_rules": [{"version": "v2.4.1-rc1", "traffic_percentage": 0.1, "dna_prefix": "c3d4"}],
}


def schema(name: str) -> dict[str, Any]:
    loaded = json.loads((FOLDER / name).read_text("utf-8"))
    assert isinstance(loaded, dict)
    return loaded


def test_the_files_are_what_would_be_written() -> None:
    assert find_stale(FOLDER) == []
    assert main(["--check"]) == 0


def test_a_missing_or_changed_file_is_stale(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "deep")
    assert main(["--check", "--folder", str(tmp_path / "deep")]) == 0

    (tmp_path / "deep" / "route.schema.json").unlink()
    with (tmp_path / "deep" / "contract.schema.json").open("a", encoding="utf-8") as file:
        file.write("\n")

    assert main(["--check", "--folder", str(tmp_path / "deep")]) == 1
    said = capsys.readouterr().err
    assert "contract.schema.json is stale; run python tools/generate_schemas.py" in said
    assert "route.schema.json is stale" in said

    assert main(["--folder", str(tmp_path / "deep")]) == 0
    assert find_stale(tmp_path / "deep") == []


@pytest.mark.parametrize("name", sorted(MODELS))
def test_the_files_are_json_schema(name: str) -> None:
    jsonschema_rs.meta.validate(schema(name))


@pytest.mark.parametrize(
    ("name", "document", "valid"),
    [
        ("contract.schema.json", BARE, True),
        ("contract.schema.json", {"model_id": "m", "version": "1.0.0", "dna": [], "instances": ["http://a:1"]}, True),
        ("contract.schema.json", {"model_id": "m", "version": "1.0.0", "promise": {}}, False),
        ("contract.schema.json", {"model_id": "m", "version": 1.0}, False),
        ("contract.schema.json", {"model_id": "m"}, False),
        ("contract.schema.json", {**BARE, "contract": {"hardware_requirements": {"gpu": []}}}, False),
        ("route.schema.json", ROUTE, True),
        ("route.schema.json", {**ROUTE, "sticky": "user"}, False),
        ("route.schema.json", {**ROUTE, "canary_rules": [{"version": "v1.0.0"}]}, False),
    ],
)
def test_the_files_say_what_the_reader_says(name: str, document: dict[str, Any], valid: bool) -> None:
    assert jsonschema_rs.Draft202012Validator(schema(name)).is_valid(document) is valid


def test_the_member_is_called_contract() -> None:
    members = schema("contract.schema.json")["properties"]

    assert "contract" in members
    assert "promise" not in members
    assert schema("route.schema.json")["properties"]["sticky"]["default"] == "header:x-user-id"
