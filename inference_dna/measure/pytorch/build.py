"""Reads what PyTorch was built with: libraries compiled into it, which no mapped file shows (provenance.md 6)."""

from __future__ import annotations

import re
from typing import Any

_LIBRARIES = {
    "mkl": re.compile(r"Math Kernel Library Version (\S+?)-"),
    "onednn": re.compile(r"(?:MKL-DNN|oneDNN) v(\S+)"),
    "openmp": re.compile(r"OpenMP (\d{6})"),
}


def built_libraries(torch: Any) -> dict[str, str]:
    """Name the libraries that are part of this build, with the versions that they tell at run time."""
    told = torch.__config__.show()
    found = {name: pattern.search(told) for name, pattern in _LIBRARIES.items()}
    rocm = getattr(torch.version, "hip", None)
    return {
        **{name: match[1] for name, match in found.items() if match is not None},
        **({} if rocm is None else {"rocm": rocm}),
    }


def instruction_set(torch: Any) -> str:
    """The level that PyTorch's own kernels use on this processor; a setting may hold it below what there is."""
    level: str = torch.backends.cpu.get_cpu_capability()
    return level


def commit(torch: Any) -> str | None:
    """The commit that this build was made from, None where it was left out."""
    told: str | None = getattr(torch.version, "git_version", None)
    return told
