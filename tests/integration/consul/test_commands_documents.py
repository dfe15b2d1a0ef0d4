"""What operators type, on a real Consul: write, look, share, go back, carry out and in again."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.support.command import as_process, in_process
from tests.support.consul import ConsulAgent
from tests.support.consul_program import consul_program
from tests.support.control import MODEL, contract
from tests.support.desk import NEW, OLD, ROUTE, Desk


@pytest.fixture
def desk(
    consul: ConsulAgent,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Desk:
    prefix = request.node.name
    monkeypatch.setenv("GATEWAY_SOURCE", f"consul://127.0.0.1:{consul.ports.http}/{prefix}")
    monkeypatch.delenv("CONSUL_HTTP_TOKEN", raising=False)
    return Desk(consul, prefix, tmp_path, in_process(capsys))


def test_apply_shows_first_and_writes_everything_at_once(desk: Desk) -> None:
    folder = desk.fleet()

    shown = desk.good("contract", "apply", folder, "--dry-run")
    assert "m, naming no version: 503 not_configured 100 % -> v1.0.0 95 %, v1.1.0 5 %" in shown
    assert desk.text(OLD) is None

    told = desk.told("contract", "apply", folder, "--yes", "--reason", "first", "--author", "ann")

    assert told["written"] is True
    assert [(one["key"], one["action"]) for one in told["changes"]] == [
        (OLD, "created"),
        (NEW, "created"),
        ("routes/m", "created"),
    ]
    assert desk.text("routes/m") == ROUTE
    assert len({desk.index(key) for key in (OLD, NEW, "routes/m")}) == 1  # one transaction
    assert desk.told("contract", "apply", folder, "--yes")["changes"] == []


def test_get_lists_and_prints(desk: Desk) -> None:
    desk.good("contract", "apply", desk.fleet(), "--yes")
    desk.put("contracts/m/v9.0.0", "{")
    desk.put("notes", "ours")

    listed = {one["key"]: one["state"] for one in desk.told("contract", "get")}
    code, out, err = desk.dna("route", "get", MODEL)
    one = desk.told("contract", "get", MODEL, "1.0.0")

    assert listed == {OLD: "ok", NEW: "ok", "contracts/m/v9.0.0": "rejected", "routes/m": "ok"}
    assert (code, out) == (0, ROUTE)
    assert f"--index {desk.index('routes/m')}" in err
    assert (one["index"], one["document"]["version"]) == (str(desk.index(OLD)), "v1.0.0")
    assert [each["key"] for each in desk.told("route", "get")] == ["routes/m"]


def test_a_canary_from_five_percent_to_the_default(desk: Desk) -> None:
    desk.good("contract", "apply", desk.fleet(), "--yes")

    moved = desk.told("route", "set-canary", MODEL, "v1.1.0", "25", "--yes", "--reason", "looks good")["moved"]
    assert moved == [{"model_id": MODEL, "asked": "no version", "share": 0.2, "before": "v1.0.0", "after": "v1.1.0"}]
    assert desk.text("routes/m") == ROUTE.replace("percentage: 5   #", "percentage: 25  #")

    desk.good("route", "promote", MODEL, "v1.1.0", "--yes")
    assert 'default: "v1.1.0"      # the old one' in (desk.text("routes/m") or "")
    assert "traffic_percentage: 0" in (desk.text("routes/m") or "")

    desk.good("route", "rollback", MODEL, "--yes")
    assert desk.text("routes/m") == ROUTE.replace("percentage: 5   #", "percentage: 25  #")

    desk.good("route", "abort", MODEL, "--yes")
    assert "traffic_percentage: 0" in (desk.text("routes/m") or "")
    reasons = [entry["reason"] for entry in desk.told("route", "history", MODEL)]
    assert reasons == ["", "looks good", "", "rollback to the text before", ""]


def test_an_edit_by_hand_is_kept_in_the_history_and_can_be_returned_to(desk: Desk) -> None:
    folder = desk.fleet()
    desk.good("contract", "apply", folder, "--yes", "--author", "ann")
    by_hand = contract("v1.0.0", "http://10.0.0.7:9000", retries=0)
    desk.put(OLD, by_hand)
    desk.good("contract", "apply", folder, "--yes", "--author", "bob")

    history = desk.told("contract", "history", MODEL, "v1.0.0")
    assert [(one["number"], one["author"], one["fields"]) for one in history] == [
        (1, "ann", []),
        (2, "(not by dna)", ["/retries"]),
        (3, "bob", ["/retries"]),
    ]
    assert desk.good("contract", "history", MODEL, "v1.0.0", "--show", "2").rstrip("\n") == by_hand

    desk.good("contract", "rollback", MODEL, "v1.0.0", "--to", "2", "--yes")
    assert desk.text(OLD) == by_hand


def test_the_history_is_bounded_and_stands_beside_the_documents(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GATEWAY_HISTORY_KEPT", "3")
    desk.good("contract", "apply", desk.fleet(), "--yes")
    for percent in (10, 20, 30, 40):
        desk.good("route", "set-canary", MODEL, "v1.1.0", percent, "--yes")

    assert [one["number"] for one in desk.told("route", "history", MODEL)] == [3, 4, 5]
    kept = desk.consul.client.get(f"/v1/kv/{desk.prefix}-history/routes/m", params={"keys": "1"}).json()
    assert kept == [f"{desk.prefix}-history/routes/m/{number:08d}" for number in (3, 4, 5)]
    watched = desk.consul.client.get(f"/v1/kv/{desk.prefix}/", params={"keys": "1", "recurse": "1"}).json()
    assert sorted(watched) == sorted(f"{desk.prefix}/{key}" for key in (OLD, NEW, "routes/m"))


def test_a_version_leaves_after_the_route_that_names_it(desk: Desk) -> None:
    folder = desk.fleet()
    desk.good("contract", "apply", folder, "--yes")
    desk.file("docs/routes/m.yaml", "model_id: m\ndefault: v1.1.0\n")
    (folder / "contracts/m/v1.0.0.json").unlink()

    told = desk.told("contract", "apply", folder, "--delete", "--yes")

    assert [(one["key"], one["action"]) for one in told["changes"]] == [("routes/m", "changed"), (OLD, "deleted")]
    assert desk.text(OLD) is None
    assert [one["action"] for one in desk.told("contract", "history", MODEL, "v1.0.0")] == ["created", "deleted"]

    desk.good("contract", "rollback", MODEL, "v1.0.0", "--yes")
    assert json.loads(desk.text(OLD) or "")["version"] == "v1.0.0"


def test_diff_and_lint_of_what_lies_there(desk: Desk) -> None:
    folder = desk.fleet()
    desk.good("contract", "apply", folder, "--yes")
    assert desk.dna("contract", "diff", folder)[0] == 0
    desk.put("routes/m", ROUTE.replace("5 ", "7 "))
    desk.put("contracts/m/v1.1.0", '{"model_id": "m", "version": "v1.1.0", "retrys": 1}')

    code, out, _ = desk.dna("contract", "diff", folder, "-o", "yaml")
    assert code == 3
    assert "path: /canary_rules/0/traffic_percentage" in out

    code, out, err = desk.dna("contract", "lint", "--consul", f"127.0.0.1:{desk.consul.ports.http}/{desk.prefix}")
    assert code == 3
    assert f"{desk.prefix}/contracts/m/v1.1.0  error" in out
    assert 'Did you mean "retries"?' in out
    assert "2 good" in err


def test_drain_and_undrain_an_instance(desk: Desk) -> None:
    desk.good("contract", "apply", desk.fleet(), "--yes")

    desk.good("drain", "10.0.0.7:9000", "--yes", "--reason", "disk")
    assert json.loads(desk.text(OLD) or "")["draining"] == ["10.0.0.7:9000"]
    assert desk.told("drain", "http://10.0.0.7:9000/", "--yes")["changes"] == []

    desk.good("undrain", "10.0.0.7:9000", "--yes")
    assert "draining" not in json.loads(desk.text(OLD) or "")
    assert [one["reason"] for one in desk.told("contract", "history", MODEL, "v1.0.0")] == ["", "disk", ""]

    code, _, err = desk.dna("drain", "10.0.0.9:9000", "--yes")
    assert (code, "there are 10.0.0.7:9000, 10.0.0.8:9000" in err) == (2, True)
    code, _, err = desk.dna("undrain", "10.0.0.7:9000", "--yes")
    assert (code, "none is drained" in err) == (2, True)


def test_drain_an_instance_that_the_catalogue_lists(desk: Desk) -> None:
    desk.put(OLD, json.dumps({"model_id": "m", "version": "v1.0.0", "service": desk.prefix}))
    desk.consul.register(
        {"Name": desk.prefix, "ID": "w", "Address": "10.0.0.7", "Port": 8000, "Meta": {"version": "v1.0.0"}}
    )

    desk.good("drain", "10.0.0.7:8000", "--yes")

    assert json.loads(desk.text(OLD) or "")["draining"] == ["10.0.0.7:8000"]


def test_export_and_import_go_both_ways_with_the_real_program(desk: Desk) -> None:
    desk.good("contract", "apply", desk.fleet(), "--yes")
    address = f"-http-addr=127.0.0.1:{desk.consul.ports.http}"

    def program(*words: str, stdin: str = "") -> str:
        done = subprocess.run(
            [str(consul_program()), "kv", words[0], address, *words[1:]],
            input=stdin, capture_output=True, text=True, timeout=30, check=True,
        )  # fmt: skip
        return done.stdout

    ours, theirs = desk.good("contract", "export"), program("export", f"{desk.prefix}/")
    assert json.loads(ours) == json.loads(theirs)

    before = {key: desk.text(key) for key in (OLD, NEW, "routes/m")}
    desk.consul.delete(f"{desk.prefix}/", recurse=True)
    program("import", "-", stdin=ours)
    assert {key: desk.text(key) for key in before} == before

    desk.consul.delete(f"{desk.prefix}/", recurse=True)
    backup = desk.file("backup.json", theirs)
    desk.good("contract", "import", backup, "--yes")
    assert {key: desk.text(key) for key in before} == before


def test_as_people_type_it(desk: Desk) -> None:
    source = f"127.0.0.1:{desk.consul.ports.http}/{desk.prefix}"
    text = contract("v1.0.0", "http://10.0.0.7:9000").encode()

    code, _, err = as_process("contract", "apply", "-", "--source", source, stdin=text)
    assert (code, "nobody is there to ask; add --yes" in err) == (2, True)
    code, out, err = as_process("contract", "apply", "-", "--source", source, "--yes", stdin=text)
    assert code == 0, err
    assert "contracts/m/v1.0.0: created" in out
    assert "written to consul://" in err
    assert desk.text(OLD) == text.decode()
