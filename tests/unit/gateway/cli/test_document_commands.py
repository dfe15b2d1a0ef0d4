"""Commands around documents on a folder: the same safety, in files."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from contracts.contract import parse_contract
from inference_dna.trust.keys import read_public_key
from inference_dna.trust.pem import new_key_pair
from tests.support.command import Run
from tests.support.control import contract, route
from tests.support.stub_worker import StubWorker, Turn, contract_for

ROUTE = """\
model_id: m
default: v1.0.0   # for now
canary_rules:
  - version: v1.1.0
    traffic_percentage: 5
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A source of two contracts and a route."""
    live = tmp_path / "live"
    write(live / "contracts/m/v1.0.0.json", contract("v1.0.0", "http://10.0.0.7:9000"))
    write(live / "contracts/m/v1.1.0.json", contract("v1.1.0", "http://10.0.0.8:9000"))
    write(live / "routes/m.yaml", ROUTE)
    monkeypatch.setenv("GATEWAY_SOURCE", f"file:{live}")
    return live


@pytest.fixture
def keys(tmp_path: Path) -> tuple[Path, Path]:
    """A private and a public key."""
    private, public = new_key_pair()
    for name, content in (("key", private), ("key.pub", public)):
        (tmp_path / name).write_bytes(content)
    return tmp_path / "key", tmp_path / "key.pub"


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_set_canary_changes_the_file_and_nothing_else_in_it(dna: Run, folder: Path) -> None:
    code, out, _ = dna("route", "set-canary", "m", "v1.1.0", "25", "--yes")

    assert code == 0
    assert "m, naming no version: v1.0.0 95 %, v1.1.0 5 % -> v1.0.0 75 %, v1.1.0 25 %" in out
    assert (folder / "routes/m.yaml").read_text("utf-8") == ROUTE.replace(": 5", ": 25")
    assert sorted(path.name for path in (folder / "routes").iterdir()) == ["m.yaml"]
    assert stat.S_IMODE((folder / "routes/m.yaml").stat().st_mode) == 0o644


def test_ranges_that_move_are_told_one_line_for_those_that_move_alike(dna: Run, folder: Path, tmp_path: Path) -> None:
    new = write(tmp_path / "new.json", contract("v1.2.0", "http://10.0.0.9:9000"))

    _, out, _ = dna("contract", "apply", new, "--dry-run")
    _, told, _ = dna("contract", "apply", new, "--dry-run", "-o", "json")

    assert [re.split(r" {2,}", line) for line in out.splitlines() if "ranges like" in line] == [
        ["m", "ranges like ^1, ^1.1", "100 %", "v1.1.0", "v1.2.0"],
        ["m", "ranges like ^1.2", "100 %", "404 version_not_found", "v1.2.0"],
    ]
    assert json.loads(told)["moved_ranges"] == [
        {"model_id": "m", "ranges": ["^1", "^1.1"], "before": "v1.1.0", "after": "v1.2.0"},
        {"model_id": "m", "ranges": ["^1.2"], "before": "404 version_not_found", "after": "v1.2.0"},
    ]


def test_of_many_ranges_that_move_twelve_lines_are_shown(dna: Run, tmp_path: Path) -> None:
    for minor in range(15):
        text = contract(f"v1.{minor}.0", f"http://10.0.0.7:{9000 + minor}")
        write(tmp_path / f"new/contracts/m/v1.{minor}.0.json", text)
    (tmp_path / "empty").mkdir()
    words = ("contract", "apply", tmp_path / "new", "--dry-run", "--source", f"file:{tmp_path / 'empty'}")

    _, out, _ = dna(*words)
    _, told, _ = dna(*words, "-o", "json")

    assert out.count("ranges like") == 12
    assert "ranges move in 3 more ways; -o json tells all" in out
    assert len(json.loads(told)["moved_ranges"]) == 15


def test_a_new_document_gets_the_ending_of_its_form(dna: Run, folder: Path, tmp_path: Path) -> None:
    new = write(tmp_path / "new.txt", contract("v2.0.0"))
    other = write(tmp_path / "other.txt", "model_id: other\ndefault: ^1\n")

    assert dna("contract", "apply", new, other, "--yes")[0] == 0

    assert (folder / "contracts/m/v2.0.0.json").exists()
    assert (folder / "routes/other.yaml").exists()


def test_the_first_document_of_an_empty_folder(dna: Run, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    new = write(tmp_path / "new.json", contract("v1.0.0"))

    assert dna("contract", "apply", new, "--yes", "--source", f"file:{tmp_path / 'empty'}")[0] == 0
    assert dna("contract", "apply", new, "--yes", "--source", f"file:{tmp_path / 'no such'}")[0] == 1

    assert (tmp_path / "empty/contracts/m/v1.0.0.json").exists()


def test_get_and_apply_with_what_was_read(dna: Run, folder: Path) -> None:
    _, out, _ = dna("contract", "get", "m", "v1.0.0", "-o", "json")
    read_at = json.loads(out)["index"]
    mine = write(folder.parent / "mine.json", contract("v1.0.0", retries=0))
    write(folder / "contracts/m/v1.0.0.json", contract("v1.0.0", strikes=7))

    code, _, err = dna("contract", "apply", mine, "--index", read_at, "--yes")

    assert (code, "somebody was faster" in err) == (4, True)
    assert json.loads((folder / "contracts/m/v1.0.0.json").read_text("utf-8"))["strikes"] == 7


def test_a_folder_keeps_no_history(dna: Run, folder: Path) -> None:
    del folder
    code, _, err = dna("contract", "history", "m", "v1.0.0")

    assert (code, "keep it in git" in err) == (1, True)


def test_drain_and_undrain(dna: Run, folder: Path) -> None:
    path = folder / "contracts/m/v1.0.0.json"
    before = path.read_text("utf-8")

    code, out, err = dna("drain", "10.0.0.7:9000", "--yes")
    assert code == 0
    assert re.search(r"no version +95 % +v1\.0\.0 +503 from v1\.0\.0", out)  # it was the only instance
    assert "no gateway that reads these documents sends it new requests" in err
    assert parse_contract(path.read_bytes()).draining == ("10.0.0.7:9000",)

    assert dna("undrain", "10.0.0.7:9000", "--yes")[0] == 0
    assert path.read_text("utf-8") == before


def test_two_files_are_compared(dna: Run, folder: Path, tmp_path: Path) -> None:
    other = write(tmp_path / "other.json", contract("v1.0.0", "http://10.0.0.7:9000", retries=0))

    code, out, _ = dna("contract", "diff", folder / "contracts/m/v1.0.0.json", other)

    assert code == 3
    assert "/retries  added  -    0" in out
    assert dna("contract", "diff", other, other)[0] == 0
    assert dna("contract", "diff", other, other, other)[0] == 2


def test_an_export_is_linted_like_a_folder(dna: Run, folder: Path, tmp_path: Path) -> None:
    write(folder / "contracts/m/v1.1.0.json", "{")
    exported = write(tmp_path / "backup.json", dna("contract", "export")[1])

    code, out, err = dna("contract", "lint", exported)

    assert code == 3
    assert "backup.json:inference/contracts/m/v1.1.0" in out
    assert "2 good, 1 error," in err


def test_what_concerns_one_document_alone_is_told_of_a_single_file(dna: Run, tmp_path: Path) -> None:
    one = write(tmp_path / "v1.0.0.json", contract("v1.0.0", "http://10.0.0.7:9000", dna=[]))

    code, out, err = dna("contract", "lint", one, "--strict")

    assert (code, err) == (3, "1 good, 0 errors, 1 warning\n")
    assert "/dna" in out
    assert "nothing is accepted, so this version serves nothing" in out


@pytest.mark.parametrize("place", ["ftp:foo", "https://127.0.0.1:8500", "127.0.0.1:consul"])
def test_a_place_that_is_none_is_answered_with_the_form(dna: Run, place: str) -> None:
    code, _, err = dna("contract", "get", "--source", place)

    assert code == 2
    assert f"'{place}' is not understood; write consul://HOST:PORT/inference" in err


@pytest.mark.parametrize("words", [["lint"], ["lint", "a.json", "--source", "file:b"]])
def test_lint_is_told_what_to_check(dna: Run, words: list[str]) -> None:
    code, _, err = dna("contract", *words)

    assert (code, "say what to check" in err) == (2, True)


# signed documents -----------------------------------------------------------------------------------------------------


def test_sign_and_lint(dna: Run, tmp_path: Path, keys: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    private, public = keys
    one, two = write(tmp_path / "v1.0.0.json", contract("v1.0.0")), write(tmp_path / "m.yaml", ROUTE)
    monkeypatch.setenv("GATEWAY_CONTRACT_KEYS", str(public))
    code, out, _ = dna("contract", "lint", one, two)
    assert (code, out.count("/signature")) == (3, 2)

    code, _, err = dna("contract", "sign", one, two, "--key", private)

    assert code == 0
    assert f"signed: {two} (routes/m)" in err
    assert dna("contract", "lint", one, two)[0] == 0
    assert two.read_text("utf-8").startswith(ROUTE)  # comments and all
    assert parse_contract(one.read_bytes()).signature["kid"] == read_public_key(public.read_bytes()).id  # type: ignore[index]

    one.write_text(one.read_text("utf-8").replace("10.0", "10.1").replace('"m"', '"n"'), encoding="utf-8")
    assert "was changed after signing" in dna("contract", "lint", one)[1]


def test_apply_signs_or_refuses(
    dna: Run, folder: Path, tmp_path: Path, keys: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    private, public = keys
    monkeypatch.setenv("GATEWAY_CONTRACT_KEYS", str(public))
    mine = write(tmp_path / "mine.json", contract("v2.0.0"))

    code, _, err = dna("contract", "apply", mine, "--yes")
    assert (code, "this gateway accepts only signed documents" in err) == (3, True)
    assert not (folder / "contracts/m/v2.0.0.json").exists()

    assert dna("contract", "apply", mine, "--yes", "--key", private)[0] == 0
    assert parse_contract((folder / "contracts/m/v2.0.0.json").read_bytes()).signature is not None
    assert dna("route", "set-canary", "m", "v1.1.0", "7", "--yes", "--key", private)[0] == 0
    listed = json.loads(dna("contract", "get", "-o", "json")[1])
    assert {one["key"]: one["state"] for one in listed} == {
        "contracts/m/v1.0.0": "rejected",
        "contracts/m/v1.1.0": "rejected",
        "contracts/m/v2.0.0": "ok",
        "routes/m": "ok",
    }


def test_a_signature_is_never_broken_by_a_command(dna: Run, folder: Path, keys: tuple[Path, Path]) -> None:
    path = folder / "contracts/m/v1.0.0.json"
    assert dna("contract", "sign", path, "--key", keys[0])[0] == 0
    before = path.read_text("utf-8")

    code, _, err = dna("drain", "10.0.0.7:9000", "--yes")  # GATEWAY_CONTRACT_KEYS is not known here

    assert (code, "is signed, and would have to be signed anew: --key KEY" in err) == (3, True)
    assert path.read_text("utf-8") == before
    assert dna("drain", "10.0.0.7:9000", "--yes", "--key", keys[0])[0] == 0
    assert dna("contract", "apply", path, "--yes")[0] == 0


def test_keys_of_no_use(dna: Run, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    del folder
    write(tmp_path / "no.pub", "no key")
    for keys, says in ((tmp_path / "no.pub", "must be Ed25519 in PEM"), ("nowhere.pub", "cannot be read")):
        monkeypatch.setenv("GATEWAY_CONTRACT_KEYS", str(keys))
        code, _, err = dna("contract", "get")
        assert (code, says in err, "GATEWAY_CONTRACT_KEYS" in err) == (2, True, True)
    monkeypatch.delenv("GATEWAY_CONTRACT_KEYS")
    code, _, err = dna("route", "set-canary", "m", "v1.1.0", "7", "--yes", "--key", tmp_path / "no.pub")
    assert (code, "--key" in err) == (1, True)


def test_sign_looks_first(dna: Run, tmp_path: Path, keys: tuple[Path, Path]) -> None:
    broken = write(tmp_path / "broken.json", contract("v1.0.0", retries=7))

    assert dna("contract", "sign", broken, "--key", keys[0])[0] == 3
    assert dna("contract", "sign", tmp_path, "--key", keys[0])[0] == 2
    assert "signature" not in broken.read_text("utf-8")


# enrolling ------------------------------------------------------------------------------------------------------------


def test_enroll_writes_what_running_workers_are(dna: Run, folder: Path) -> None:
    with StubWorker(seed="a") as one, StubWorker(seed="a") as twin, StubWorker(seed="b") as other:
        path = folder / "contracts/m/v1.0.0.json"
        urls = [one.url, twin.url, other.url]
        write(path, json.dumps({"model_id": "m", "version": one.version, "instances": urls}))

        code, out, err = dna("contract", "enroll", "m", one.version, "--yes", "--reason", "first stack")
        assert code == 0, err
        assert err.count("  new") == 3
        for entry in (one.accepted(), other.accepted()):  # what is agreed to is shown to the last letter
            assert f'added  -    "{entry["digest"]}"' in out
            assert f'added  -    "{entry["dna"]}"' in out
        entries = json.loads(path.read_text("utf-8"))["dna"]
        assert [entry["digest"] for entry in entries] == [one.accepted()["digest"], other.accepted()["digest"]]

        code, _, err = dna("contract", "enroll", "m", one.version, "--yes")
        assert code == 0
        assert "nothing to write" in err
        assert err.count("accepted already") == 3


def test_enroll_refuses_what_must_not_become_the_truth(dna: Run, folder: Path) -> None:
    with StubWorker(version="v9.9.9") as other, StubWorker(status="loading") as loading, StubWorker() as gone:
        gone.stop()
        document = {**contract_for(other), "version": "v1.0.0", "dna": []}
        document["instances"] = [other.url, loading.url, gone.url]
        write(folder / "contracts/m/v1.0.0.json", json.dumps(document))

        code, _, err = dna("contract", "enroll", "m", "v1.0.0", "--yes")

    assert code == 1
    assert "it is of the version v9.9.9" in err
    assert "answered with status 503" in err
    assert "no answer from" in err
    assert json.loads((folder / "contracts/m/v1.0.0.json").read_text("utf-8"))["dna"] == []


async def trickle(turn: Turn) -> None:
    """Send a byte now and then, for ever."""
    await turn.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        await turn.write(b"1\r\n \r\n")
        await asyncio.sleep(0.02)


async def flood(turn: Turn) -> None:
    """Send more than a health page has."""
    await turn.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + 20 * (b"400\r\n%b\r\n" % (1024 * b" ")))
    await turn.write(b"0\r\n\r\n")


def test_enroll_waits_for_nobody_and_reads_no_more_than_it_must(
    dna: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GATEWAY_PROBE_TIMEOUT", "0.2")
    monkeypatch.setenv("GATEWAY_PROBE_MAX_BODY", "10000")
    with StubWorker(healthz=trickle) as slow, StubWorker(healthz=flood) as loud:
        instances = ["--instance", slow.url, "--instance", loud.url]
        code, _, err = dna("contract", "enroll", "m", "v1.0.0", "--yes", *instances)

    assert code == 1
    assert f"no answer from {slow.url}/healthz: TimeoutError" in err
    assert f"{loud.url}/healthz answers with more than a health page may have" in err
    assert folder.exists()


def test_enroll_is_told_whom_to_ask(dna: Run, folder: Path) -> None:
    write(folder / "contracts/m/v1.0.0.json", json.dumps({"model_id": "m", "version": "v1.0.0"}))
    write(folder / "contracts/m/v1.1.0.json", json.dumps({"model_id": "m", "version": "v1.1.0", "service": "bert"}))

    assert "the contract lists none; name them by --instance URL" in dna("contract", "enroll", "m", "v1.0.0")[2]
    assert "the service bert lists none" in dna("contract", "enroll", "m", "v1.1.0")[2]
    assert "--instance" in dna("contract", "enroll", "m", "v1.0.0", "--instance", "ftp://x")[2]


# every command --------------------------------------------------------------------------------------------------------


def test_the_route_that_follows_an_alias(dna: Run, folder: Path) -> None:
    write(folder / "routes/m.yaml", route(default="stable", aliases={"stable": "v1.0.0"}))

    code, _, err = dna("route", "promote", "m", "v1.1.0", "--yes")

    assert code == 0
    assert "the default of m is the alias stable; aliases stay as they are" in err


def test_a_broken_route_is_mended_first(dna: Run, folder: Path) -> None:
    write(folder / "routes/m.yaml", "model_id: m\ndefalut: v1\n")

    code, _, err = dna("route", "set-canary", "m", "v1.1.0", "7", "--yes")

    assert (code, 'Did you mean "default"?' in err) == (3, True)


@pytest.mark.parametrize("output", ["json", "yaml"])
def test_existing_commands_print_yaml_as_well(dna: Run, output: str) -> None:
    code, out, _ = dna("config", "show", "-o", output)

    assert code == 0
    assert "GATEWAY_CONTRACT_KEYS" in out


def test_exit_codes_are_told_in_one_place(dna: Run) -> None:
    assert "Exit codes: 0 good; 1 failed; 2 wrong usage; 3 findings" in dna("--help")[1]


def test_completion_for_shells(dna: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    code, script, _ = dna("--show-completion", "bash")
    assert (code, "complete -o default -F _dna_completion dna" in script) == (0, True)
    for _ in range(2):
        code, script, _ = dna("--show-completion", "zsh")
        assert (code, script.count('[[ "$funcstack[1]" == "_dna" ]]')) == (0, 1)

    for name, value in {"_DNA_COMPLETE": "complete_bash", "COMP_WORDS": "dna route ", "COMP_CWORD": "2"}.items():
        monkeypatch.setenv(name, value)
    code, words, _ = dna()

    assert code == 0
    assert words.split() == ["set-canary", "promote", "abort", "get", "history", "rollback"]


# what is shown, and to whom -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "where"),
    [
        pytest.param('{"model_id": "m", "dna": []}', "/version", id="version-missing"),
        pytest.param('{"model_id": "m", "versoin": "v1.0.0"}', "/versoin", id="version-misspelt"),
        pytest.param('{"model_id": "m", "instnces": []}', "/instnces", id="instances-misspelt"),
        pytest.param("model_id: m\nalias: {}\n", "/alias", id="a-route"),
    ],
)
def test_a_lone_document_is_taken_for_what_it_is_nearly(dna: Run, tmp_path: Path, text: str, where: str) -> None:
    file = write(tmp_path / "lone.txt", text)

    code, out, _ = dna("contract", "lint", file, "-o", "json")

    assert code == 3
    assert where in [one["path"] for one in json.loads(out) if one["severity"] == "error"]


def test_where_there_is_no_document_nothing_is_good(dna: Run, tmp_path: Path, keys: tuple[Path, Path]) -> None:
    (tmp_path / "empty").mkdir()
    export = write(tmp_path / "export.json", "[]")

    for words in (["lint", tmp_path / "empty"], ["lint", export], ["sign", export, "--key", keys[0]]):
        assert dna("contract", *words)[0] == 2


def test_what_is_refused_is_told_in_the_form_that_was_asked_for(dna: Run, folder: Path, tmp_path: Path) -> None:
    broken = write(tmp_path / "broken.json", contract("v1.0.0", retries=7))

    for command in ("apply", "diff"):
        code, out, _ = dna("contract", command, broken, "-o", "json")
        assert code == 3
        assert [one["path"] for one in json.loads(out)] == ["/retries"]
    assert "retries" not in (folder / "contracts/m/v1.0.0.json").read_text("utf-8")


def test_a_document_that_is_refused_now_is_told_beside_where_requests_go(dna: Run, folder: Path) -> None:
    text = (folder / "routes/m.yaml").read_text("utf-8")
    write(folder / "routes/m.yaml", "model_id: [")

    _, _, err = dna("contract", "apply", write(folder.parent / "mended.yaml", text), "--dry-run")

    assert "the gateways refuse what lies there now as routes/m" in err


def test_an_empty_place_says_what_that_may_mean(dna: Run, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()

    code, _, err = dna("contract", "get", "--source", f"file:{tmp_path / 'empty'}")

    assert code == 0
    assert "shows no document" in err


def test_documents_of_a_model_that_nobody_knows(dna: Run, folder: Path) -> None:
    code, out, err = dna("contract", "get", "m/v1.0.0")

    assert (code, out) == (1, "")
    assert f"no document is of the model m/v1.0.0 in file:{folder}" in err


def test_a_private_key_that_others_can_read_is_told(dna: Run, tmp_path: Path, keys: tuple[Path, Path]) -> None:
    file = write(tmp_path / "one.json", contract("v1.0.0"))
    keys[0].chmod(0o644)

    code, _, err = dna("contract", "sign", file, "--key", keys[0])

    assert code == 0
    assert f"others can read the private key {keys[0]}: chmod 600" in err


@pytest.mark.parametrize(
    ("form", "key", "code", "says"),
    [
        pytest.param("table", b"\x04", 1, "dna: nothing was written", id="end-of-input"),
        pytest.param("json", b"", 2, "with -o json nothing is shown to agree to", id="nothing-shown"),
    ],
)
def test_at_a_terminal(folder: Path, form: str, key: bytes, code: int, says: str) -> None:
    ours, theirs = pty.openpty()
    os.write(ours, key)
    words = ["route", "set-canary", "m", "v1.1.0", "50", "-o", form, "--source", f"file:{folder}"]
    try:
        done = subprocess.run(
            [sys.executable, "-m", "gateway.cli.main", *words],
            stdin=theirs, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
    finally:
        os.close(ours)
        os.close(theirs)

    assert done.returncode == code
    assert says in done.stderr
    assert (folder / "routes/m.yaml").read_text("utf-8") == ROUTE


def test_a_gateway_with_keys_and_without_the_extra_that_reads_them(folder: Path, keys: tuple[Path, Path]) -> None:
    program = "import sys; sys.modules['cryptography'] = None; from gateway.cli.main import main; sys.exit(main())"

    done = subprocess.run(
        [sys.executable, "-c", program, "gateway", "--source", f"file:{folder}"],
        env={**os.environ, "GATEWAY_CONTRACT_KEYS": str(keys[1])},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip

    assert done.returncode == 2
    assert done.stdout == ""
    assert f"GATEWAY_CONTRACT_KEYS: {keys[1]}: This needs the package cryptography" in done.stderr
