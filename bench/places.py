"""Where the benchmark keeps things: the cache that git ignores, and the results that it does not."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CACHE = ROOT / ".cache" / "bench"
VENVS = CACHE / "venvs"
RESULTS = ROOT / "bench" / "results"
LATEST = RESULTS / "latest.json"
PICTURE = RESULTS / "latest.svg"
PAGE = ROOT / "docs" / "performance.md"

_MEMORY = Path("/dev/shm")  # a file system in memory, where logs cost no disk


@contextmanager
def workplace() -> Iterator[Path]:
    """A folder in memory, where there is such a file system, that vanishes afterwards."""
    parent = _MEMORY if _MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="bench-", dir=parent, ignore_cleanup_errors=True) as name:
        yield Path(name)
