"""Finds the operator libraries a process has mapped (provenance.md section 6).

Wheels and images bring their own copies: the version that counts is that of the mapped file. A file name often tells
the first number only; then the package that installed the file tells the rest.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from importlib.metadata import distributions

_LIBRARY = re.compile(
    r"(?P<path>/.*/lib(?P<name>cudart|cudnn|cublas|cublasLt|cufft|curand|cusolver|cusparse|cusparseLt|nvrtc|nccl"
    r"|amdhip64|MIOpen|rccl|rocblas|hipblaslt|mkl_core|mkl_rt|dnnl|openblas|scipy_openblas64_|gomp|iomp5)"
    r"(?:-(?P<build>[^/]+?))?\.so(?:\.(?P<version>[0-9][^/ ]*))?)(?: \(deleted\))?$"
)
_NAMES = {
    "amdhip64": "hip", "dnnl": "onednn", "MIOpen": "miopen", "mkl_core": "mkl", "mkl_rt": "mkl",
    "scipy_openblas64_": "openblas",
}  # fmt: skip
_FULL_VERSION = re.compile(r"\d+\.\d+")
_WHEEL = "/nvidia/"
"""Wheels of NVIDIA lay their libraries below this folder of an environment."""

Owner = Callable[[str], str | None]
"""Version of the package that installed a file, None where no package says so."""


def mapped_libraries(maps: str, owner: Owner | None = None) -> dict[str, str]:
    """Name the operator libraries of a process with their versions: of the file name, else of the package, else build.

    Args:
        maps: Text of `/proc/<pid>/maps`. A file replaced since it was mapped is listed there as deleted, and counts.
        owner: Asked for a file whose name tells the first number of its version only.

    Returns:
        Versions by name. Two copies of one library that differ are both named, joined by ` and `.
    """
    found: dict[str, set[str]] = {}
    for name, version in _mapped(maps, owner):
        found.setdefault(name, set()).add(version)
    return {name: " and ".join(sorted(found[name])) for name in sorted(found)}


def installed_version(path: str) -> str | None:
    """Ask the packages of the environment that a file lies in which of them brought it."""
    home, found, below = path.partition(_WHEEL)
    if not found:
        return None
    # Asked as text: the library's own list leaves out files that were removed since, and a mapped one may be.
    entry = f"\n{found.strip('/')}/{below},"
    for package in distributions(path=[home]):
        if package.name.startswith("nvidia-") and entry in f"\n{package.read_text('RECORD') or ''}":
            return package.version
    return None


def _mapped(maps: str, owner: Owner | None) -> Iterator[tuple[str, str]]:
    seen: set[str] = set()
    for line in maps.splitlines():
        match = _LIBRARY.search(line)
        if match is None or match["path"] in seen:
            continue
        seen.add(match["path"])
        version = match["version"] or match["build"] or "unversioned"
        if owner is not None and not _FULL_VERSION.match(version) and match["build"] is None:
            version = owner(match["path"]) or version
        yield _NAMES.get(match["name"], match["name"]), version
