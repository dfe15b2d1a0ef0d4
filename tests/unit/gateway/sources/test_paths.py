from __future__ import annotations

import pytest

from contracts.key import KeyRefused
from gateway.sources.paths import is_passed_over, parse_path


@pytest.mark.parametrize(
    ("path", "key"),
    [
        pytest.param("contracts/m/v2.4.0.json", "contracts/m/v2.4.0", id="json"),
        pytest.param("contracts/m/v2.4.0.yaml", "contracts/m/v2.4.0", id="yaml"),
        pytest.param("contracts/m/v2.4.0.yml", "contracts/m/v2.4.0", id="yml"),
        pytest.param("contracts/m/v2.4.0", "contracts/m/v2.4.0", id="no-ending"),
        pytest.param("contracts/m/2.4.0.json", "contracts/m/v2.4.0", id="without-v"),
        pytest.param(
            "contracts/meta-llama/Llama-3-8B/v1.0.0.json", "contracts/meta-llama/Llama-3-8B/v1.0.0", id="slash"
        ),
        pytest.param("contracts/m/v2.3.9+hotfix-20240511.json", "contracts/m/v2.3.9+hotfix-20240511", id="build"),
        pytest.param("routes/m.yaml", "routes/m", id="route"),
        pytest.param("routes/org/m", "routes/org/m", id="route-with-slash"),
        pytest.param("routes/llama-3.1.yaml", "routes/llama-3.1", id="route-with-dots"),
    ],
)
def test_a_path_names_a_key(path: str, key: str) -> None:
    assert str(parse_path(path)) == key


@pytest.mark.parametrize(
    "path", ["contracts/m/v2.4.json", "contracts/v1.0.0.json", "contracts/m/Makefile", "routes/a b"]
)
def test_a_path_that_names_none_is_refused_with_a_sentence(path: str) -> None:
    with pytest.raises(KeyRefused, match=r"is no|does not"):
        parse_path(path)


@pytest.mark.parametrize(
    ("name", "passed_over"),
    [
        (".git", True),
        ("..data", True),
        ("v1.0.0.json~", True),
        (".v1.0.0.json.swp", True),
        ("v1.0.0.json.swp", True),
        ("v1.0.0.json.tmp", True),
        ("v1.0.0.json.bak", True),
        ("#v1.0.0.json#", True),
        ("README.md", True),
        ("v1.0.0.json", False),
        ("v1.0.0", False),
        ("Makefile", False),
    ],
)
def test_hidden_files_backups_and_prose_are_passed_over(name: str, passed_over: bool) -> None:
    assert is_passed_over(name) is passed_over
