from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from worker import command


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
        pytest.param(["folder", "--port", "http"], id="port-is-a-word"),
        pytest.param(["folder", "--port", "1", "--threads", "0"], id="no-thread"),
        pytest.param(["folder", "--port", "1", "--waiting", "-1"], id="fewer-than-nobody-waits"),
        pytest.param(["folder", "--port", "1", "--delay-ms", "-1"], id="delay-into-the-past"),
    ],
)
def test_a_wrong_command_line_is_status_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        command.main(arguments)

    assert ended.value.code == 2
    assert "usage: python -m worker" in capsys.readouterr().err
