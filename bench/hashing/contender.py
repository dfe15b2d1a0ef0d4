"""The tools that hash a folder, each a command whose output names the SHA-256 of every file."""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path

from bench.cores import available_cores
from bench.peers.gateway import NAME as OURS
from bench.peers.install import python_of
from bench.places import ROOT, VENVS
from bench.processes import StartError

MODEL_SIGNING = "model-signing"
_RUN_S = 900.0


@dataclass(frozen=True, slots=True)
class Hashing:
    """One run of one tool: seconds of the wall and of CPU, bare SHA-256 by file name."""

    seconds: float
    cpu_s: float
    digests: dict[str, str]


@dataclass(frozen=True, slots=True)
class Contender:
    """One tool: how it is run on a folder, which program must be there, how to get it."""

    name: str
    run: Callable[[Path], Hashing]
    program: Callable[[], str | None]
    hint: str
    version: Callable[[], str]


def contenders() -> Sequence[Contender]:
    """All, ours first."""
    cores, get = len(available_cores()), f"python -m bench peers install {MODEL_SIGNING}"
    return (
        Contender(OURS, partial(_ours, threads=0), lambda: sys.executable, "", _our_version),
        Contender(f"{OURS}, one thread", partial(_ours, threads=1), lambda: sys.executable, "", _our_version),
        Contender("sha256sum", partial(_sha256sum, processes=1), _coreutils, "install coreutils", _coreutils_version),
        Contender(
            "sha256sum, one per core", partial(_sha256sum, processes=cores), _coreutils, "install coreutils",
            _coreutils_version,
        ),
        Contender("model_signing", _model_signing, _model_signing_python, get, _model_signing_version),
    )  # fmt: skip


def _ours(folder: Path, *, threads: int) -> Hashing:
    return _told([sys.executable, "-m", "bench.hashing.ours", str(folder), str(threads)])


def _model_signing(folder: Path) -> Hashing:
    return _told([str(_python()), str(ROOT / "bench" / "hashing" / "model_signing_run.py"), str(folder)])


def _sha256sum(folder: Path, *, processes: int) -> Hashing:
    """As people run it; its own start, a millisecond, is counted."""
    names = "\0".join(sorted(file.name for file in folder.iterdir()))
    each = ["-n", "1"] if processes > 1 else []
    began_s, before = time.perf_counter(), _children_s()
    said = _said(["xargs", "-0", "-P", str(processes), *each, "sha256sum", "--"], cwd=folder, given=names)
    seconds, cpu_s = time.perf_counter() - began_s, _children_s() - before
    return Hashing(seconds, cpu_s, {line[66:]: line[:64] for line in said.splitlines()})


def _told(command: Sequence[str]) -> Hashing:
    return Hashing(**json.loads(_said(command, cwd=ROOT)))


def _said(command: Sequence[str], *, cwd: Path, given: str = "") -> str:
    done = subprocess.run(command, cwd=cwd, input=given, capture_output=True, text=True, timeout=_RUN_S, check=False)
    if done.returncode != 0:
        raise StartError(f"{Path(command[0]).name} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return done.stdout


def _children_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _our_version() -> str:
    return version(OURS)


def _coreutils() -> str | None:
    return shutil.which("sha256sum") if shutil.which("xargs") else None


def _coreutils_version() -> str:
    return _said(["sha256sum", "--version"], cwd=ROOT).splitlines()[0].rpartition(" ")[2]


def _python() -> Path:
    return python_of(VENVS / MODEL_SIGNING)


def _model_signing_python() -> str | None:
    return str(_python()) if _python().exists() else None


def _model_signing_version() -> str:
    asked = "from importlib.metadata import version; print(version('model-signing'))"
    return _said([str(_python()), "-c", asked], cwd=ROOT).strip()
