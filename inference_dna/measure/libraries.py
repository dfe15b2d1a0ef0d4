"""Finds the operator libraries a process has mapped (provenance.md section 6).

Wheels and images bring their own copies: the version that counts is that of the mapped file.
"""

from __future__ import annotations

import re

_LIBRARY = re.compile(
    r"/lib(?P<name>cudart|cudnn|cublas|cublasLt|nccl|mkl_core|mkl_rt|dnnl|openblas|scipy_openblas64_|gomp|iomp5)"
    r"(?:-(?P<build>[^/]+?))?\.so(?:\.(?P<version>[0-9][^/ ]*))?(?: \(deleted\))?$"
)
_NAMES = {"dnnl": "onednn", "mkl_core": "mkl", "mkl_rt": "mkl", "scipy_openblas64_": "openblas"}


def mapped_libraries(maps: str) -> dict[str, str]:
    """Name the operator libraries of a process with what their file names tell: version, else build.

    Args:
        maps: Text of `/proc/<pid>/maps`. A file replaced since it was mapped is listed there as deleted, and counts.
    """
    found = {}
    for line in maps.splitlines():
        match = _LIBRARY.search(line)
        if match:
            name = _NAMES.get(match["name"], match["name"])
            found[name] = match["version"] or match["build"] or "unversioned"
    return dict(sorted(found.items()))
