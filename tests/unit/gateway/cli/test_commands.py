"""Commands that need no gateway, run in process: what goes where, and with which exit code."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gateway.cli.main import main
from tests.support.control import contract, route

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def dna(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command; gives exit code, standard output, standard error."""
    for name in ("GATEWAY_SOURCE", "GATEWAY_PORT", "GATEWAY_PROBE_INTERVAL"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments: str | Path) -> tuple[int, str, str]:
        code = main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return run


# in general -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["--version", "-V"])
def test_the_version(dna: Run, option: str) -> None:
    code, out, _ = dna(option)

    assert code == 0
    assert out.startswith("dna 0.")


def test_help_lists_every_command(dna: Run) -> None:
    code, out, err = dna("--help")

    assert code == 0
    assert not err
    for command in ("gateway", "worker", "digest", "status", "explain", "health", "schema", "contract", "config"):
        assert f"\n  {command} " in out
    for command in ("manifest", "key", "sign", "verify", "receipt"):
        assert f"\n  {command} " in out
    assert "serve" not in out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param(["nonsense"], "No such command", id="no-such-command"),
        pytest.param(["explain"], "Missing argument", id="missing-argument"),
        pytest.param(["status", "-o", "xml"], "xml", id="no-such-form"),
        pytest.param(["schema", "pipeline"], "contract or route", id="no-such-schema"),
        pytest.param(["gateway", "--port", "x"], "valid integer", id="no-number"),
        pytest.param(["gateway"], "--source file:DIR", id="no-source"),
        pytest.param(["gateway", "--source", "file:x", "--port", "70000"], "--port: should be", id="no-such-port"),
        pytest.param(
            ["gateway", "--source", "file:x", "--probe-interval", "0"], "--probe-interval: should be", id="never"
        ),
    ],
)
def test_wrong_usage_is_2_and_nothing_on_standard_output(dna: Run, arguments: list[str], says: str) -> None:
    code, out, err = dna(*arguments)

    assert (code, out) == (2, "")
    assert says in err
    assert "Traceback" not in err


def test_a_fault_of_ours_is_a_sentence(dna: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("it broke")

    monkeypatch.setattr("gateway.cli.config.print_settings", broken)
    code, out, err = dna("config", "show")

    assert (code, out, err) == (1, "", "dna: RuntimeError: it broke\n")


# digest ---------------------------------------------------------------------------------------------------------------

VECTORS = json.loads((Path(__file__).parents[3] / "vectors" / "dna_vectors.json").read_text())["vectors"]
GENOME = next(vector for vector in VECTORS if vector["id"] == "genome-01")


def test_digests_of_a_genome_as_the_vectors_say(dna: Run, tmp_path: Path) -> None:
    file = tmp_path / "genome.json"
    file.write_text(GENOME["in"]["text"])
    code, out, err = dna("digest", file, "-o", "json")

    assert (code, err) == (0, "")
    assert json.loads(out) == GENOME["out"]


def test_digests_as_a_table(dna: Run, tmp_path: Path) -> None:
    file = tmp_path / "genome.json"
    file.write_text(GENOME["in"]["text"])
    code, out, _ = dna("digest", file)
    table = dict(line.split() for line in out.splitlines())

    assert code == 0
    assert table.pop("NAME") == "DIGEST"
    assert table == GENOME["out"]


def test_a_genome_from_standard_input(dna: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(GENOME["in"]["text"].encode())))
    code, out, _ = dna("digest", "-", "-o", "json")

    assert code == 0
    assert json.loads(out)["runtime"] == GENOME["out"]["runtime"]


@pytest.mark.parametrize(
    ("text", "arguments", "says"),
    [
        pytest.param('{"format": "inference-dna/1"}', (), "genome.json: ", id="no-genome"),
        pytest.param('{"a": 1, "a": 1}', (), "genome.json: ", id="duplicate-key"),
        pytest.param(None, (), "No such file or directory", id="no-file"),
    ],
)
def test_what_is_refused_is_1_and_a_sentence(
    dna: Run, tmp_path: Path, text: str | None, arguments: tuple[str, ...], says: str
) -> None:
    file = tmp_path / "genome.json"
    if text is not None:
        file.write_text(text)
    code, out, err = dna("digest", file, *arguments)

    assert (code, out) == (1, "")
    assert says in err
    assert err.count("\n") == 1


def test_an_input_hash_that_is_none_is_wrong_usage(dna: Run, tmp_path: Path) -> None:
    file = tmp_path / "genome.json"
    file.write_text(GENOME["in"]["text"])

    code, out, err = dna("digest", file, "--input-hash", "xyz")

    assert (code, out) == (2, "")
    assert "--input-hash takes 64 of 0-9 a-f" in err


# lint -----------------------------------------------------------------------------------------------------------------


def put(folder: Path, path: str, text: str) -> Path:
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


GOOD = contract("v1.0.0", "http://10.0.0.1:8000")


def test_good_documents_are_0(dna: Run, tmp_path: Path) -> None:
    put(tmp_path, "contracts/m/v1.0.0.json", GOOD)
    put(tmp_path, "routes/m.yaml", "model_id: m\ndefault: ^1.0\n")
    put(tmp_path, "README.md", "not a document")
    code, out, err = dna("contract", "lint", tmp_path)

    assert (code, out) == (0, "")
    assert err == "2 good, 0 errors, 0 warnings\n"


@pytest.mark.parametrize(
    ("files", "says"),
    [
        pytest.param({"contracts/m/v1.0.0.json": "{"}, "", id="broken"),
        pytest.param({"contracts/m/v1.0.0.json": contract("v1.0.0", strikes="x")}, "/strikes", id="wrong-type"),
        pytest.param({"contracts/m/v2.0.0.json": GOOD}, "v2.0.0", id="wrong-key"),
        pytest.param({"contracts/m/v2.json": GOOD}, "three numbers", id="no-key"),
        pytest.param({"contracts/m/v1.0.0.json": GOOD, "contracts/m/1.0.0.yaml": GOOD}, "keep one of them", id="twice"),
        pytest.param(
            {
                "contracts/m/v1.0.0.json": contract("v1.0.0", successor="v2.0.0"),
                "contracts/m/v2.0.0.json": contract("v2.0.0", accepts="b", successor="v1.0.0"),
            },
            "successor",
            id="circle",
        ),
    ],
)
def test_findings_are_3_with_file_and_place(dna: Run, tmp_path: Path, files: dict[str, str], says: str) -> None:
    for path, text in files.items():
        put(tmp_path, path, text)
    code, out, _ = dna("contract", "lint", tmp_path, "-o", "json")
    findings = json.loads(out)

    assert code == 3
    assert any(one["severity"] == "error" for one in findings)
    assert all(one["file"].startswith(str(tmp_path)) and one["message"] for one in findings)
    assert says in out


def test_warnings_are_findings_only_where_that_is_asked(dna: Run, tmp_path: Path) -> None:
    put(tmp_path, "contracts/m/v1.0.0.json", GOOD)
    put(tmp_path, "routes/m.yaml", "model_id: m\ndefault: v9.9.9\n")
    lenient = dna("contract", "lint", tmp_path)
    strict = dna("contract", "lint", tmp_path, "--strict")

    assert (lenient[0], strict[0]) == (0, 3)
    assert "/default" in lenient[1]
    assert "warning" in lenient[1]


def test_a_folder_may_be_called_contracts_without_being_one_of_keys(dna: Run, tmp_path: Path) -> None:
    assert dna("contract", "lint", put(tmp_path, "contracts/drafts.json", GOOD))[0] == 0


def test_an_export_of_the_key_tree_is_a_folder_of_keys(dna: Run, tmp_path: Path) -> None:
    put(tmp_path, "inference/contracts/m/v2.0.0.json", GOOD)

    assert dna("contract", "lint", tmp_path)[0] == 3


def test_a_single_file_is_not_blamed_for_what_another_may_hold(dna: Run, tmp_path: Path) -> None:
    file = put(tmp_path, "routes/m.yaml", "model_id: m\ndefault: v9.9.9\n")

    assert dna("contract", "lint", file, "--strict")[0] == 0


def test_a_document_outside_a_folder_of_keys_is_told_by_its_members(dna: Run, tmp_path: Path) -> None:
    code, _, err = dna("contract", "lint", put(tmp_path, "c.json", GOOD), put(tmp_path, "r.json", route(default="^1")))

    assert code == 0
    assert err.startswith("2 good")


def test_lint_reads_standard_input(dna: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"{")))

    assert dna("contract", "lint", "-")[0] == 3


def test_a_file_that_is_not_there_is_1(dna: Run, tmp_path: Path) -> None:
    assert dna("contract", "lint", tmp_path / "nowhere.json")[0] == 1


# schema and settings --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["contract", "route"])
def test_the_schema_of_each_document(dna: Run, kind: str) -> None:
    code, out, _ = dna("schema", kind)

    assert code == 0
    assert json.loads(out)["properties"]["model_id"]


def test_settings_with_value_origin_and_meaning(dna: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GATEWAY_PROBE_INTERVAL", "2")
    monkeypatch.setenv("GATEWAY_ALERT_URL", "https://me:secret@alerts/hook")
    code, out, _ = dna("config", "show", "-o", "json")
    shown = {one["variable"]: one for one in json.loads(out)}

    assert code == 0
    assert (shown["GATEWAY_PROBE_INTERVAL"]["value"], shown["GATEWAY_PROBE_INTERVAL"]["origin"]) == (2, "environment")
    assert shown["GATEWAY_PORT"]["origin"] == "default"
    assert shown["GATEWAY_ALERT_URL"]["value"] == "https://***@alerts/hook"
    assert "secret" not in dna("config", "show")[1]


def test_settings_that_cannot_be_used_are_named(dna: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GATEWAY_PORT", "http")
    code, out, err = dna("config", "show")

    assert (code, out) == (2, "")
    assert "GATEWAY_PORT" in err
