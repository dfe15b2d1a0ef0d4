from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command import Run, in_process


@pytest.fixture
def dna(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Run a command in a folder of its own; gives exit code, standard output, standard error."""
    monkeypatch.chdir(tmp_path)
    return in_process(capsys)
