from pathlib import Path

import pytest

from gateway.settings import Settings, variable
from tools import generate_settings_reference as reference


def test_the_committed_page_is_fresh() -> None:
    assert reference.main(["--check"]) == 0


def test_every_setting_has_a_row_that_says_what_it_is() -> None:
    rows = list(reference.rows())

    assert [row.split("`")[1] for row in rows] == [variable(name) for name in Settings.model_fields]
    assert not any("| None |" in row or "|  |" in row for row in rows)


def test_a_stale_page_is_said_and_mended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(reference, "PAGE", tmp_path / "settings.md")
    (tmp_path / "settings.md").write_text("old")

    assert reference.main(["--check"]) == 1
    assert "settings.md is stale; run `make schemas`" in capsys.readouterr().err
    assert reference.main([]) == 0
    assert reference.main(["--check"]) == 0
