"""The library imports the standard library alone; what needs more imports it where it is used."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[3]
MODULES = sorted(
    ".".join(path.relative_to(REPOSITORY).with_suffix("").parts)
    for path in (REPOSITORY / "inference_dna").rglob("*.py")
    if path.name != "__init__.py"
)


def test_there_are_modules() -> None:
    assert len(MODULES) > 50


def test_every_module_can_be_imported_without_any_installed_package() -> None:
    # One process for all: -S leaves out site-packages, -I the environment and the folder of the caller.
    program = (
        f"import sys, importlib; sys.path.insert(0, {str(REPOSITORY)!r})\n"
        f"for name in {MODULES!r}:\n"
        "    try: importlib.import_module(name)\n"
        "    except ImportError as error: print(name, error)\n"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == ""


@pytest.mark.parametrize("module", ["guard", "middleware", "trust.signing", "making.generate"])
def test_what_users_import_first_is_among_them(module: str) -> None:
    assert f"inference_dna.{module}" in MODULES
