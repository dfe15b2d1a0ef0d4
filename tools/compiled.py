"""The compiled build of this working tree: `python -m tools.compiled build | wheel | test`.

It is what the wheel holds, unpacked into a folder named after the sources it was made from: a build of other sources
is never taken for this one. Whoever starts a process with `environment(folder)` runs it in place of the sources.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILDS = ROOT / ".cache" / "compiled"
PACKAGES = ("inference_dna", "contracts", "gateway", "worker")
TESTED = (
    "tests/unit/gateway/proxy",
    "tests/unit/gateway/routing",
    "tests/unit/gateway/health",
    "tests/fuzz",
    "tests/integration/proxy",
)
"""What is run against the build: inside the test process, and as a process of its own."""
PIP = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")


def current() -> Path | None:
    """Give the folder of a build of exactly these sources; None where there is none."""
    folder = _folder()
    return folder if folder.is_dir() else None


def build() -> Path:
    """Give the folder of the compiled build, made now if it is not there. Takes about two minutes.

    Raises:
        subprocess.CalledProcessError: It could not be compiled; a C compiler and Python's headers are needed.
    """
    folder = _folder()
    if folder.is_dir():
        return folder
    unfinished = folder.with_name(f"{folder.name}.{os.getpid()}")
    shutil.rmtree(unfinished, ignore_errors=True)
    _pip("install", "--target", str(unfinished))
    for old in BUILDS.iterdir():
        if old != unfinished:
            shutil.rmtree(old, ignore_errors=True)
    unfinished.rename(folder)
    return folder


def environment(folder: Path) -> Mapping[str, str]:
    """Give the variables with which Python imports from the build, whatever the working folder is."""
    return {"PYTHONPATH": str(folder), "PYTHONSAFEPATH": "1"}


def _pip(*arguments: str) -> None:
    switched_on = {**os.environ, "HATCH_BUILD_HOOK_ENABLE_CUSTOM": "1"}
    subprocess.run([*PIP, *arguments, "--no-deps", "--no-build-isolation", str(ROOT)], check=True, env=switched_on)


def _test() -> int:
    """Run the tests of the compiled modules against the build, then a minute of mutated bytes; give the exit status."""
    pytest = [sys.executable, "-m", "pytest", "-n", "2", "--dist", "loadfile", "-o", "pythonpath="]
    # The drain is not among what is compiled, and its twenty rounds take two minutes.
    tests = [*pytest, "-m", "not interpreted", *TESTED, "--ignore", "tests/integration/proxy/test_drain.py"]
    fuzzer = [sys.executable, "-m", "tests.fuzz.mutate", "--seconds", "60"]
    compiled = {**os.environ, **environment(build())}
    statuses = [subprocess.run(command, cwd=ROOT, env=compiled, check=False).returncode for command in (tests, fuzzer)]
    return next((status for status in statuses if status), 0)


def _folder() -> Path:
    seen = hashlib.sha256(sys.version.encode())
    for path in _sources():
        seen.update(f"{path.relative_to(ROOT)}\n".encode() + hashlib.sha256(path.read_bytes()).digest())
    return BUILDS / seen.hexdigest()[:16]


def _sources() -> Iterator[Path]:
    yield from (ROOT / "pyproject.toml", ROOT / "tools" / "compile_hook.py")
    for package in PACKAGES:
        yield from sorted(path for path in (ROOT / package).rglob("*") if path.suffix in {".py", ".json", ".typed"})


def main(arguments: list[str]) -> int:
    """Do what the command line says; give the exit status."""
    match arguments:
        case ["build"]:
            print(f"The compiled build is in {build().relative_to(ROOT)}.")
        case ["wheel"]:
            _pip("wheel", "--wheel-dir", str(ROOT / "dist"))
            print("The wheel is in dist/.")
        case ["test"]:
            return _test()
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
