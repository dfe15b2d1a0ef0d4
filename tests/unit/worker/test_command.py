from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from inference_dna.trust.pem import new_key_pair
from worker import command
from worker.command import Options, demanded, parse
from worker.demo.recipes import BUNDLES
from worker.loader import Kind


def test_a_folder_that_is_not_there_is_a_sentence_and_status_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main([str(tmp_path / "none"), "--port", "1"]) == 2
    assert "There is no bundle at" in capsys.readouterr().err


def test_a_bundle_that_nobody_names_is_a_sentence_and_status_2(
    copied: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = copied()
    (folder / "manifest.json").unlink()

    assert command.main([str(folder), "--port", "1"]) == 2
    assert "--model-id and --version" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param([], id="no-bundle"),
        pytest.param(["folder"], id="no-port"),
        pytest.param(["--port", "1"], id="no-bundle-but-a-port"),
        pytest.param(["folder", "--model", "folder", "--port", "1"], id="two-bundles"),
        pytest.param(["folder", "--port", "1", "--backend", "vllm"], id="unknown-backend"),
        pytest.param(["folder", "--port", "1", "--guard-every", "0"], id="guard-at-no-answer"),
        pytest.param(["folder", "--port", "http"], id="port-is-a-word"),
        pytest.param(["folder", "--port", "70000"], id="no-such-port"),
        pytest.param(["folder", "--port", "1", "--threads", "0"], id="no-thread"),
        pytest.param(["folder", "--port", "1", "--waiting", "-1"], id="fewer-than-nobody-waits"),
        pytest.param(["folder", "--port", "1", "--delay-ms", "-1"], id="delay-into-the-past"),
    ],
)
def test_a_wrong_command_line_is_status_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        command.main(arguments)

    assert ended.value.code == 2
    assert "usage: dna worker" in capsys.readouterr().err


def test_a_port_that_is_taken_is_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code = command.main([str(BUNDLES / "v2.4.0"), "--port", str(port)])

    assert code == 2
    err = capsys.readouterr().err
    assert f"cannot listen on 127.0.0.1:{port} (" in err
    assert "choose another with --port" in err
    assert "is loading" not in err


def test_the_bundle_may_be_an_option() -> None:
    told = parse(["--backend", "transformers", "--model", "folder", "--port", "9"])

    assert told == Options(Path("folder"), 9, kind=Kind.TRANSFORMERS)


def test_the_manifest_of_the_demo_is_noted_and_holds_where_somebody_says_whom_to_trust(tmp_path: Path) -> None:
    key = tmp_path / "release.pem.pub"
    key.write_bytes(new_key_pair()[1])
    bundle = BUNDLES / "v2.4.0"

    noted, trusted = demanded(Options(bundle, 1)), demanded(Options(bundle, 1, trust=(key,)))

    assert noted.manifest is None
    assert noted.noted == trusted.noted is not None
    assert trusted.manifest == bundle / "manifest.json"
    assert len(trusted.trust.keys) == 1


def test_a_manifest_beside_another_model_must_hold() -> None:
    bundle = BUNDLES / "v2.4.0"

    assert demanded(Options(bundle, 1, kind=Kind.TRANSFORMERS)).manifest == bundle / "manifest.json"


def test_a_key_that_is_none_is_a_sentence_and_status_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main([str(BUNDLES / "v2.4.0"), "--port", "1", "--trust", str(tmp_path / "none")]) == 2
    assert "none" in capsys.readouterr().err
