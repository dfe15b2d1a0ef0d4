from __future__ import annotations

import pytest

from gateway.cli.output import print_table

ROWS = [("10.0.0.1:8000", "ejected"), ("10.0.0.2:8000", "verified")]


def test_lines_for_programs_are_neither_cut_nor_wrapped(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("ID", "WHY"), [("a", "x" * 500), ("b", "")])

    assert capsys.readouterr().out == f"ID  WHY\na   {'x' * 500}\nb\n"


@pytest.mark.parametrize(("no_colour", "red"), [("", True), ("1", False)])
def test_a_terminal_gets_colours_unless_told_not_to(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, no_colour: str, red: bool
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("NO_COLOR", no_colour)
    print_table(("ID", "STATE"), ROWS, bad=("ejected",))
    out = capsys.readouterr().out

    assert ("\x1b[31m" in out) is red
    assert "10.0.0.1:8000" in out
    assert "verified" in out
