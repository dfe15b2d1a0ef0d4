"""`make setup`: does its work once, and says in a sentence what is missing."""

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
TARGETS = [
    "help", "setup", "run", "demo", "test", "compile", "wheel", "lint", "format", "schemas", "lock", "bench",
    "bench-smoke", "clean",
]  # fmt: skip


def make(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run(["make", *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=60)


def tell_python(path: Path, script: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The Makefile in a folder with a space in its name, whose installer only notes that it was called."""
    folder = tmp_path / "a copy"
    (folder / "tools").mkdir(parents=True)
    for name in ("Makefile", "pyproject.toml", "requirements.lock", "requirements-models.lock"):
        shutil.copy(REPOSITORY / name, folder / name)
    (folder / "tools" / "make_venv.sh").write_text(
        'mkdir -p "$1/bin"; ln -sf /bin/true "$1/bin/python"; echo again >> installed\n'
    )
    return folder


def times_installed(folder: Path) -> int:
    return len((folder / "installed").read_text().splitlines())


def test_the_second_setup_does_nothing(copy: Path) -> None:
    assert make(copy, "setup").returncode == 0
    assert times_installed(copy) == 1

    assert make(copy, "setup").returncode == 0
    assert times_installed(copy) == 1


def later(folder: Path, name: str) -> Path:
    os.utime(folder / name, (time.time() + 10, time.time() + 10))
    return folder


def dangling(folder: Path) -> Path:
    (folder / ".venv" / "bin" / "python").unlink()
    (folder / ".venv" / "bin" / "python").symlink_to("/nonexistent/python3")
    return folder


def moved(folder: Path) -> Path:
    return folder.rename(folder.with_name("elsewhere"))


@pytest.mark.parametrize(
    "event",
    [
        pytest.param(lambda folder: later(folder, "requirements.lock"), id="the-lock-changed"),
        pytest.param(lambda folder: later(folder, "pyproject.toml"), id="the-project-changed"),
        pytest.param(dangling, id="the-python-it-was-made-from-is-gone"),
        pytest.param(moved, id="the-folder-was-moved"),
    ],
)
def test_setup_does_its_work_again_when(copy: Path, event: Callable[[Path], Path]) -> None:
    make(copy, "setup")

    folder = event(copy)

    assert make(folder, "setup").returncode == 0
    assert times_installed(folder) == 2


def test_a_failed_setup_is_tried_again(copy: Path) -> None:
    (copy / "tools" / "make_venv.sh").write_text("echo again >> installed; exit 1\n")

    assert make(copy, "setup").returncode != 0
    assert make(copy, "setup").returncode != 0
    assert times_installed(copy) == 2


def test_help_is_what_make_alone_says_and_it_lists_every_target(copy: Path) -> None:
    said = make(copy)

    assert said.stdout == make(copy, "help").stdout
    assert [line.split()[1] for line in said.stdout.splitlines()] == TARGETS


def make_venv(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", str(REPOSITORY / "tools" / "make_venv.sh"), str(folder / ".venv")],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_without_a_new_enough_python_setup_says_so(tmp_path: Path) -> None:
    tell_python(tmp_path / "bin" / "python3", "exit 1  # what an old Python answers to the question for its version")

    said = make_venv(tmp_path, PATH=str(tmp_path / "bin"))

    assert said.returncode != 0
    assert said.stderr.startswith("This needs Python 3.11 or later, and found none.")
    assert not (tmp_path / ".venv").exists()


def test_the_first_python_that_is_new_enough_is_used_where_the_first_is_too_old(tmp_path: Path) -> None:
    tell_python(tmp_path / "bin" / "python3", "exit 1")
    tell_python(tmp_path / "bin" / "python3.12", f'echo "$*" >> "{tmp_path}/asked"')

    make_venv(tmp_path, PATH=str(tmp_path / "bin"))

    assert "-m venv --clear" in (tmp_path / "asked").read_text()


def test_a_python_without_venv_is_said_in_a_sentence(tmp_path: Path) -> None:
    tell_python(tmp_path / "bin" / "python3", 'case "$*" in *ensurepip*) exit 1;; esac')

    said = make_venv(tmp_path, PATH=str(tmp_path / "bin"))

    assert said.returncode != 0
    assert "its modules venv and ensurepip are missing" in said.stderr
