"""The command `model_signing` of OpenSSF, as its users run it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

_BESIDE = Path(sys.executable).with_name("model_signing")
COMMAND = str(_BESIDE) if _BESIDE.exists() else shutil.which("model_signing")
NO_COMMAND = "the command model_signing is not installed; `make setup` brings it"


def sign(folder: Path, key: Path, signature: Path) -> None:
    done = _run("sign", "key", str(folder), "--private_key", str(key), "--signature", str(signature))
    assert done.returncode == 0, done.stderr


def verifies(folder: Path, key: Path, signature: Path, *options: str) -> bool:
    done = _run("verify", "key", str(folder), "--public_key", str(key), "--signature", str(signature), *options)
    assert "Traceback" not in done.stderr
    return done.returncode == 0


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    assert COMMAND is not None
    return subprocess.run([COMMAND, *arguments], capture_output=True, text=True, check=False)
