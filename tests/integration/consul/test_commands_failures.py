"""Where a command must not write, or cannot: it says why, and nothing was overwritten."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.edits.consul import ConsulPlace
from gateway.edits.history import Note
from gateway.edits.place import Change, Faster, PlaceFailed
from gateway.sources.consul.address import parse_address
from tests.support.command import in_process
from tests.support.consul import MASTER, ConsulAgent
from tests.support.consul_between import between
from tests.support.control import MODEL, contract
from tests.support.desk import NEW, OLD, ROUTE, Desk
from tests.support.gateway_process import free_port

TIMES = Note("ann", "2026-01-31T12:00:00Z", "")


@pytest.fixture
def desk(
    consul: ConsulAgent,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Desk:
    prefix = re.sub("[^a-z0-9_]+", "_", request.node.name)
    monkeypatch.setenv("GATEWAY_SOURCE", f"consul://127.0.0.1:{consul.ports.http}/{prefix}")
    return Desk(consul, prefix, tmp_path, in_process(capsys))


def refused(desk: Desk, *arguments: object, code: int) -> str:
    done, _, err = desk.dna(*arguments)
    assert done == code, err
    assert "Traceback" not in err
    return err


# somebody was faster --------------------------------------------------------------------------------------------------


def test_a_document_that_changed_since_it_was_read_is_not_overwritten(desk: Desk) -> None:
    desk.good("contract", "apply", desk.fleet(), "--yes")
    read_at = desk.index(OLD)
    desk.put(OLD, contract("v1.0.0", "http://10.0.0.7:9000", retries=0))
    mine = desk.file("mine.json", contract("v1.0.0", "http://10.0.0.7:9000", strikes=7))

    told = refused(desk, "contract", "apply", mine, "--index", read_at, "--yes", code=4)

    assert f"is at index {desk.index(OLD)} now, and was read at {read_at}" in told
    assert json.loads(desk.text(OLD) or "")["retries"] == 0
    desk.good("contract", "apply", mine, "--index", desk.index(OLD), "--yes")
    assert json.loads(desk.text(OLD) or "")["strikes"] == 7


def test_somebody_writes_while_we_are_asked(desk: Desk) -> None:
    desk.good("contract", "apply", desk.fleet(), "--yes")
    words = ["route", "set-canary", MODEL, "v1.1.0", "50", "--source", os.environ["GATEWAY_SOURCE"]]
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "gateway.cli.main", *words],
        stdin=theirs, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, bufsize=0,
    )  # fmt: skip
    assert process.stderr is not None
    try:
        told = b""
        while b"Write this?" not in told:
            piece = process.stderr.read(1024)
            assert piece, told
            told += piece
        desk.put("routes/m", ROUTE.replace("5 ", "7 "))
        os.write(ours, b"y\n")
        told += process.stderr.read()
        code = process.wait(30)
    finally:
        process.kill()
        process.stderr.close()
        os.close(ours)
        os.close(theirs)

    assert code == 4
    assert b"/canary_rules/0/traffic_percentage  changed  5    7" in told
    assert b"somebody was faster" in told
    assert desk.text("routes/m") == ROUTE.replace("5 ", "7 ")
    assert len(desk.told("route", "history", MODEL)) == 1  # document and entry: both or none


def test_creating_never_overwrites(desk: Desk) -> None:
    place = ConsulPlace(parse_address(os.environ["GATEWAY_SOURCE"], {}))
    desk.put("routes/m", ROUTE)

    with pytest.raises(Faster, match="routes/m"):
        place.write([Change("routes/m", None, b"model_id: m\n")], TIMES)
    held = place.read().documents["routes/m"]
    desk.consul.delete(f"{desk.prefix}/routes/m")
    for text in (b"model_id: m\n", None):
        with pytest.raises(Faster, match="routes/m"):
            place.write([Change("routes/m", held, text)], TIMES)

    assert desk.text("routes/m") is None


# what the gateway would refuse ----------------------------------------------------------------------------------------


def test_nothing_is_written_that_the_gateway_would_refuse(desk: Desk) -> None:
    folder = desk.fleet()
    desk.file("docs/contracts/m/v1.1.0.json", contract("v1.1.0", retries=7))

    code, out, err = desk.dna("contract", "apply", folder, "--yes")

    assert code == 3
    assert "/retries  7 is too large; it may be at most 1." in out
    assert "nothing was written" in err
    assert desk.text(OLD) is None


def test_nothing_is_written_that_does_not_go_with_what_lies_there(desk: Desk) -> None:
    desk.good("contract", "apply", desk.fleet(), "--yes")
    build = desk.file("build.json", contract("v1.0.0+hotfix"))

    told = refused(desk, "contract", "apply", build, "--yes", code=3)

    assert "contracts/m/v1.0.0+hotfix" in told
    assert desk.text("contracts/m/v1.0.0+hotfix") is None


def test_one_document_under_two_keys_has_to_be_sorted_out_first(desk: Desk) -> None:
    desk.put("contracts/m/1.0.0", contract("v1.0.0"))
    desk.put(OLD, contract("v1.0.0"))

    told = refused(desk, "contract", "apply", desk.file("mine.json", contract("v1.0.0", retries=0)), "--yes", code=1)

    assert "more than one key" in told
    assert f"{desk.prefix}/contracts/m/1.0.0" in told


def test_a_document_keeps_the_key_it_has(desk: Desk) -> None:
    desk.put("contracts/m/1.0.0", contract("v1.0.0"))

    desk.good("contract", "apply", desk.file("mine.json", contract("v1.0.0", retries=0)), "--yes")

    assert desk.text(OLD) is None
    assert json.loads(desk.text("contracts/m/1.0.0") or "")["retries"] == 0


# what is not there ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["contract", "get", "m", "v7.0.0"], 1, "there is no contracts/m/v7.0.0; of this model there are routes/m"),
        (["route", "get", "nobody"], 1, "there is no routes/nobody; `dna contract get` lists what there is"),
        (["contract", "get", "m", "seven"], 2, "does not end in a version"),
        (["route", "set-canary", "nobody", "v1.0.0", "5"], 1, "there is no routes/nobody"),
        (["route", "set-canary", "m", "v1", "5"], 2, "three numbers are needed"),
        (["route", "set-canary", "m", "v1.0.0", "500"], 2, "is no percentage"),
        (["route", "abort", "m", "v3.0.0"], 2, "does not have a canary rule for v3.0.0"),
        (["route", "promote", "m", "v2.0.0", "--default", "^1"], 2, "does not select v2.0.0"),
        (["route", "history", "m"], 1, "no dna command has written it"),
        (["route", "rollback", "m"], 1, "no dna command has written it"),
        (["contract", "enroll", "m", "v1.0.0"], 1, "there is no contracts/m/v1.0.0"),
        (["contract", "apply", "nowhere.json"], 1, "nowhere.json: No such file"),
    ],
)
def test_what_is_not_there(desk: Desk, words: list[str], code: int, says: str) -> None:
    desk.put("routes/m", ROUTE)

    assert says in refused(desk, *words, code=code)


def test_an_entry_that_is_not_kept(desk: Desk) -> None:
    desk.good("contract", "apply", desk.fleet(), "--yes")

    assert "there is no entry 9 of routes/m; kept are 1 to 1" in refused(
        desk, "route", "rollback", MODEL, "--to", 9, "--yes", code=1
    )
    assert "no other text of routes/m is kept" in refused(desk, "route", "rollback", MODEL, "--yes", code=1)


@pytest.mark.parametrize(
    ("value", "says"),
    [
        pytest.param("nonsense", "entry 1 of the history cannot be read", id="nonsense"),
        pytest.param("", "an entry of the history is there already and was not seen", id="empty"),
    ],
)
def test_a_history_that_somebody_wrote_into(desk: Desk, value: str, says: str) -> None:
    desk.consul.put(f"{desk.prefix}-history/{OLD}/00000001", value)

    told = refused(desk, "contract", "apply", desk.file("mine.json", contract("v1.0.0")), "--yes", code=1)

    assert says in told
    assert desk.text(OLD) is None


# size -----------------------------------------------------------------------------------------------------------------


def test_more_documents_than_one_transaction_holds(desk: Desk) -> None:
    for number in range(40):  # two operations each; 64 is the most
        desk.file(f"docs/contracts/m/v1.{number}.0.json", contract(f"v1.{number}.0", accepts="a"))

    desk.good("contract", "apply", desk.folder / "docs", "--yes")

    listed = desk.told("contract", "get")
    assert len(listed) == 40
    assert len({one["index"] for one in listed}) == 2  # two transactions
    assert len(desk.told("contract", "history", MODEL, "v1.39.0")) == 1


def many(desk: Desk) -> list[Change]:
    """Two transactions of new documents."""
    texts = {f"contracts/m/v1.{number}.0": contract(f"v1.{number}.0").encode() for number in range(40)}
    return [Change(key, None, text) for key, text in texts.items()]


def test_somebody_is_faster_after_the_first_transaction(desk: Desk) -> None:
    place = ConsulPlace(parse_address(os.environ["GATEWAY_SOURCE"], {}))
    desk.put("contracts/m/v1.39.0", contract("v1.39.0", retries=0))

    with pytest.raises(Faster, match=r"^contracts/m/v1\.39\.0$") as faster:
        place.write(many(desk), TIMES)

    assert faster.value.written == tuple(f"contracts/m/v1.{number}.0" for number in range(32))
    assert desk.text("contracts/m/v1.31.0") is not None
    assert desk.text("contracts/m/v1.32.0") is None


def test_consul_goes_away_in_the_middle_of_a_write(desk: Desk) -> None:
    told: list[str] = []

    def lose(path: str) -> bool:
        told.append(path)
        return len(told) == 2

    with between(desk.consul) as proxy:
        proxy.lose = lose
        place = ConsulPlace(parse_address(f"consul://{proxy.address}/{desk.prefix}", {}))
        with pytest.raises(PlaceFailed) as failed:
            place.write(many(desk), TIMES)

    assert "written before that: contracts/m/v1.0.0, " in str(failed.value)
    assert "whether it still wrote contracts/m/v1.32.0, " in str(failed.value)
    assert "nothing was written" not in str(failed.value)
    assert desk.text("contracts/m/v1.39.0") is not None  # as it happened, it did


def test_a_document_as_large_as_a_transaction_allows_and_one_larger(desk: Desk) -> None:
    urls = [f"http://worker-{number:05d}.example.internal:9000" for number in range(8_000)]
    good = desk.file("good.json", contract("v1.0.0", *urls[:7_000]))
    desk.good("contract", "apply", good, "--yes")
    assert (desk.text(OLD) or "") == good.read_text("utf-8")
    assert len(good.read_bytes()) > 300_000
    assert desk.good("contract", "history", MODEL, "v1.0.0", "--show", "1").rstrip("\n") == good.read_text("utf-8")

    large = desk.file("large.json", contract("v1.1.0", *urls, limits={}) + " " * 60_000)
    told = refused(desk, "contract", "apply", large, "--yes", code=1)

    assert "make the document smaller" in told
    assert told.rstrip().endswith("; nothing was written")
    assert desk.text(NEW) is None


# Consul itself --------------------------------------------------------------------------------------------------------


def test_consul_is_away(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GATEWAY_SOURCE", f"consul://127.0.0.1:{free_port()}/inference")

    for words in (["contract", "get"], ["contract", "apply", desk.fleet(), "--yes"], ["route", "history", MODEL]):
        assert "say where Consul is: --source consul://HOST:PORT/inference" in refused(desk, *words, code=1)


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("consul://127.0.0.1:0", "the port of Consul"),
        ("consul://127.0.0.1?token=x", "a token does not belong into an address"),
        ("file:/nowhere/at/all", "cannot be read"),
        ("", "say where the documents are: --source, or GATEWAY_SOURCE"),
    ],
)
def test_a_source_that_is_none(desk: Desk, monkeypatch: pytest.MonkeyPatch, source: str, says: str) -> None:
    monkeypatch.setenv("GATEWAY_SOURCE", source)

    assert says in refused(desk, "contract", "get", code=1 if source.startswith("file:") else 2)


def rules(prefix: str, documents: str, history: str) -> str:
    pairs = ((f"{prefix}/", documents), (f"{prefix}-history/", history))
    return "\n".join(f'key_prefix "{below}" {{ policy = "{policy}" }}' for below, policy in pairs)


@pytest.mark.parametrize(
    ("documents", "history", "code", "says"),
    [
        pytest.param("write", "write", 0, "written to", id="all-rights"),
        pytest.param("read", "write", 1, "needs key_prefix", id="documents-only-to-read"),
        pytest.param("write", "read", 1, "needs key_prefix", id="history-only-to-read"),
        pytest.param("deny", "deny", 1, "needs key_prefix", id="none"),
    ],
)
def test_rights(
    guarded: ConsulAgent,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    documents: str,
    history: str,
    code: int,
    says: str,
) -> None:
    prefix = f"rights-{request.node.callspec.id}"
    guarded.new_policy(prefix, rules(prefix, documents, history))
    token = tmp_path / "token"
    token.write_text(guarded.new_token(prefix)[1], encoding="utf-8")
    mine = tmp_path / "mine.json"
    mine.write_text(contract("v1.0.0"), encoding="utf-8")
    source = f"consul://127.0.0.1:{guarded.ports.http}/{prefix}?token_file={token}"

    done, _, err = in_process(capsys)("contract", "apply", mine, "--yes", "--source", source)

    assert (done, says in err) == (code, True), err
    written = guarded.client.get(f"/v1/kv/{prefix}/{OLD}").status_code == 200
    kept = guarded.client.get(f"/v1/kv/{prefix}-history/{OLD}/00000001").status_code == 200
    assert (written, kept) == (code == 0, code == 0)
    assert MASTER not in err
    assert token.read_text("utf-8") not in err
