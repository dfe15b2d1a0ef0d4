"""The command as a process: what it imports, and what it becomes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

DNA = [sys.executable, "-m", "gateway.cli.main"]


def test_asking_for_the_version_imports_nothing_heavy() -> None:
    code = (
        "import sys; from gateway.cli.main import main; main(['--version']); "
        "print(sorted({'typer', 'rich', 'pydantic', 'httpx', 'fastapi'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)

    assert done.stdout.splitlines()[1] == "[]"


def test_the_worker_command_becomes_the_worker_with_the_same_arguments(tmp_path: Path) -> None:
    package = tmp_path / "worker"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "__main__.py").write_text("import os, sys; print(os.getpid(), sys.argv[1:]); sys.exit(7)")
    root = Path(__file__).parents[4]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(root)])}
    process = subprocess.Popen(
        [*DNA, "worker", "bundle", "--port", "9001", "-h"],
        stdout=subprocess.PIPE, env=environment, cwd=tmp_path, text=True,
    )  # fmt: skip
    out, _ = process.communicate(timeout=60)

    assert process.returncode == 7
    assert out == f"{process.pid} ['bundle', '--port', '9001', '-h']\n"


def test_a_reader_that_leaves_is_no_fault() -> None:
    process = subprocess.Popen(
        [*DNA, "config", "show"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(os.environ)
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    process.wait(60)

    assert b"Traceback" not in err
