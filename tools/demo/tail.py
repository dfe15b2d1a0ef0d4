"""What is added to a file from now on, whole lines only."""

from __future__ import annotations

from pathlib import Path


class Tail:
    """Follows one file.

    Args:
        path: The file; it must exist.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._at = path.stat().st_size

    def take(self) -> str:
        """Take the lines that were added since the last time, each with its line end."""
        with self._path.open("rb") as file:
            file.seek(self._at)
            added = file.read()
        whole = added[: added.rfind(b"\n") + 1]
        self._at += len(whole)
        return whole.decode("utf-8", "replace")
