"""`dna attest` where it does not begin to attest; what it attests is in tests/integration/attest."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gateway.cli.main import main


@pytest.mark.parametrize(
    ("changed", "code", "says"),
    [
        pytest.param({"--engine": "ollama"}, 1, "no engine that can be attested", id="engine"),
        pytest.param({"--pid": "999999999"}, 1, "There is no process 999999999", id="process"),
        pytest.param({"--model": "nowhere"}, 1, "There is no model at", id="model"),
        pytest.param({"--version": "new"}, 1, "'new' is no version", id="version"),
        pytest.param({"--url": "https://a:1"}, 1, "no address of an engine", id="address"),
        pytest.param({"--listen": "9100"}, 1, "no place to listen", id="place"),
        pytest.param({"--bind": "uuid"}, 1, "names no member of a section", id="bind"),
        pytest.param({"--api-key-file": "nowhere"}, 1, "No such file", id="key"),
        pytest.param({"--interval": "0"}, 2, "--interval", id="interval"),
    ],
)
def test_what_cannot_be_used_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], changed: dict[str, str], code: int, says: str
) -> None:
    options = {
        "--engine": "vllm",
        "--pid": str(os.getpid()),
        "--model": str(tmp_path),
        "--model-id": "m",
        "--version": "v1.0.0",
        "--listen": "127.0.0.1:0",
        **changed,
    }

    ended = main(["attest", *[word for option in options.items() for word in option]])

    assert ended == code
    assert says in capsys.readouterr().err
