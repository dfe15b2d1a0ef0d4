"""Members change, the rest of a text stays as its author wrote it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from contracts.reading import read
from gateway.edits.text import edited, quoted_text

YAML = """\
# who owns this: team m
model_id: m
default: "^1.0"   # the old one
sticky: header:X-User-Id

aliases: {stable: v1.0.0}
canary_rules:
  # the candidate
  - version: v1.1.0
    traffic_percentage: 5   # percent
    dna_prefix: "0777"
"""


def share(percentage: float) -> Any:
    def edit(document: dict[str, Any]) -> None:
        document["canary_rules"][0]["traffic_percentage"] = percentage

    return edit


def test_yaml_keeps_comments_quotes_order_and_empty_lines() -> None:
    changed = edited(YAML.encode(), share(25)).decode()

    assert changed == YAML.replace("percentage: 5   #", "percentage: 25  #")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("model_id: m\ncanary_rules:\n- version: v1.1.0\n  traffic_percentage: 5\n", id="flush-dashes"),
        pytest.param("model_id: m\ncanary_rules:\n    - version: v1.1.0\n      traffic_percentage: 5\n", id="four"),
        pytest.param("model_id: m\ncanary_rules: [{version: v1.1.0, traffic_percentage: 5}]\n", id="in-one-line"),
        pytest.param(
            "model_id: m\naliases:\n    stable: v1.0.0\ncanary_rules:\n    - {version: v1, traffic_percentage: 5}\n",
            id="aliases-four",
        ),
        pytest.param("---\nmodel_id: m\ncanary_rules:\n  - {version: v1.1.0, traffic_percentage: 5}\n", id="marked"),
        pytest.param(f"model_id: m\nsalt: {'long ' * 60}end\ncanary_rules:\n- traffic_percentage: 5\n", id="long-line"),
    ],
)
def test_yaml_keeps_its_form(text: str) -> None:
    assert edited(text.encode(), share(25)).decode() == text.replace("percentage: 5", "percentage: 25")


def test_a_text_that_looks_like_a_number_stays_a_text() -> None:
    def edit(document: dict[str, Any]) -> None:
        document["canary_rules"].append({"dna_prefix": quoted_text("1234"), "version": quoted_text("v2.0.0")})

    changed = edited(YAML.encode(), edit)

    assert read(changed).value["canary_rules"][1] == {"dna_prefix": "1234", "version": "v2.0.0"}  # type: ignore[index]


@pytest.mark.parametrize(
    "indent", [pytest.param(2, id="two"), pytest.param("\t", id="tabs"), pytest.param(None, id="one-line")]
)
@pytest.mark.parametrize("end", ["", "\n"])
def test_json_keeps_its_indentation_and_its_end(indent: int | str | None, end: str) -> None:
    document = {"model_id": "中", "canary_rules": [{"version": "v1.1.0", "traffic_percentage": 5}]}
    text = json.dumps(document, indent=indent, ensure_ascii=False) + end

    assert edited(text.encode(), share(25)).decode() == text.replace(": 5", ": 25")


def test_a_dna_prefix_like_a_number_with_an_exponent_stays_as_it_is() -> None:
    text = "model_id: m\ncanary_rules:\n- {version: v1.1.0, traffic_percentage: 5, dna_prefix: 12e4}\nsalt: 1e999\n"

    def edit(document: dict[str, Any]) -> None:
        assert document["canary_rules"][0]["dna_prefix"] == "12e4"
        share(25)(document)

    assert edited(text.encode(), edit).decode() == text.replace("percentage: 5", "percentage: 25")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("model_id: m\n# mine\ncanary_rules:\n- traffic_percentage: 5  # percent\n", id="yaml"),
        pytest.param('{\n  "canary_rules": [\n    {\n      "traffic_percentage": 5\n    }\n  ]\n}\n', id="json"),
    ],
)
def test_line_ends_of_windows_stay(text: str) -> None:
    windows = text.replace("\n", "\r\n")

    assert edited(windows.encode(), share(7)).decode() == windows.replace(": 5", ": 7")
