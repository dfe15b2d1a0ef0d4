"""TAB after `dna`, in the shells that people use, set up the way they are told to."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.terminal import Terminal

pytestmark = pytest.mark.slow

PROMPT = "ready> "
TAB, CLEAR = "\t", "\x15"


@dataclass(frozen=True)
class Shell:
    """A shell, and what a person's own file for it says: a prompt to wait for."""

    name: str
    file: str
    text: str
    list_keys: str = TAB
    """What lists where there are several ways to go on."""


SHELLS = (
    Shell("bash", ".bashrc", f"PS1='{PROMPT}'\n", list_keys=TAB + TAB),
    Shell("zsh", ".zshrc", f"PS1='{PROMPT}'\n"),
    Shell(
        "fish",
        ".config/fish/config.fish",
        # Grey suggestions would show what TAB is to show.
        f"set -g fish_greeting\nset -g fish_autosuggestion_enabled 0\nfunction fish_prompt; echo -n '{PROMPT}'; end\n",
    ),
)


class Person:
    """Somebody at a terminal, in a home that is made for the test."""

    def __init__(self, shell: Shell, home: Path) -> None:
        self.shell, self.home = shell, home
        file = home / shell.file
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(shell.text, encoding="utf-8")
        # Where this folder is missing fish reads every manual page of the machine, once, for minutes.
        (home / ".local/share/fish/generated_completions").mkdir(parents=True)
        (home / "document.json").write_text("{}", encoding="utf-8")

    def terminal(self) -> Terminal:
        path = f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"
        environment = {"HOME": str(self.home), "PATH": path, "TERM": "xterm", "LANG": "C.UTF-8"}
        return Terminal([self.shell.name, "-i"], folder=self.home, environment=environment)

    def install(self) -> None:
        with self.terminal() as terminal:
            terminal.wait_for(PROMPT)
            terminal.type("dna --install-completion\n")
            terminal.wait_for(f"{self.shell.name} completion installed in", "restart the terminal")


@pytest.fixture(scope="module", params=[pytest.param(shell, id=shell.name) for shell in SHELLS])
def person(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Person:
    shell: Shell = request.param
    if shutil.which(shell.name) is None:
        pytest.skip(f"{shell.name} is not installed on this machine")
    made = Person(shell, tmp_path_factory.mktemp(shell.name))
    made.install()
    return made


def test_tab_gives_commands_options_values_and_files(person: Person) -> None:
    several = person.shell.list_keys
    with person.terminal() as terminal:
        terminal.wait_for(PROMPT)
        for typed, shown in (
            ("dna " + several, ["gateway", "contract", "undrain"]),  # the first of a session
            ("dna route set-c" + TAB, ["set-canary"]),
            ("dna status --" + several, ["--admin", "--output"]),
            ("dna gateway --source consul://127.0.0.1:8500 --ho" + TAB, ["--host"]),
            ("dna status -o j" + TAB, ["json"]),
            ("dna contract lint doc" + TAB, ["document.json"]),
        ):
            terminal.type(CLEAR + typed)
            terminal.wait_for(*shown)


def test_to_install_twice_is_to_install_once(person: Person) -> None:
    before = (person.home / person.shell.file).read_text("utf-8").split()

    person.install()

    assert (person.home / person.shell.file).read_text("utf-8").split() == before
