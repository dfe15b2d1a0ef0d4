"""May this process serve? A library that silently falls back would change what is refused (http.md section 2.6)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.metadata import version
from importlib.util import find_spec

LEAST = {"uvloop": (0, 23), "httptools": (0, 9)}
"""uvloop before 0.23 can hand the bytes of one request to another after a cancelled connect (MagicStack/uvloop#645)."""
COMPILED = ("uvloop.loop", "httptools.parser.parser")


def installed() -> Mapping[str, str]:
    """Give the versions of the libraries that are checked."""
    return {name: version(name) for name in LEAST}


def unfit(versions: Mapping[str, str], origins: Mapping[str, str | None]) -> Iterator[str]:
    """Say in sentences what keeps the process from serving.

    Args:
        versions: Version by library.
        origins: File by module of those that must be compiled; None where it was not found.
    """
    for name, least in LEAST.items():
        if _numbers(versions[name]) < least:
            yield f"{name} {versions[name]} is too old; install {name}>={'.'.join(map(str, least))}"
    for module, origin in origins.items():
        if origin is None or not origin.endswith(tuple(EXTENSION_SUFFIXES)):
            yield f"{module} is not compiled here; install a wheel for this machine"


def origins() -> Mapping[str, str | None]:
    """Find the files of the modules that must be compiled."""
    specs = {module: find_spec(module) for module in COMPILED}
    return {module: spec.origin if spec is not None else None for module, spec in specs.items()}


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")[:2] if part.isdigit())
