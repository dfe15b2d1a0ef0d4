"""The folder that one running demo owns: its documents and its logs, under `run/`, which git ignores."""

from __future__ import annotations

import fcntl
import os
import shutil
from pathlib import Path
from typing import Self

REPOSITORY = Path(__file__).resolve().parents[2]


class FolderInUse(Exception):
    """Another demo runs on this folder; two would overwrite each other's documents."""


class RunFolder:
    """`with RunFolder(path) as folder:`; made where it is missing, readable by its owner only, one demo at a time.

    What an earlier run left in it is removed at the start and not at the end: documents and logs can still be read.

    Args:
        path: Such as `run/fleet`.

    Raises:
        FolderInUse: On entering.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.documents = path / "documents"
        self.logs = path / "logs"
        self._lock = -1

    def __enter__(self) -> Self:
        self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
        # The kernel lets go of the lock when the process ends, however it ends.
        self._lock = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.pread(self._lock, 20, 0).decode().strip() or "of unknown number"
            os.close(self._lock)
            raise FolderInUse(f"Process {owner} is running a demo in {self.path}. Stop that one first.") from None
        os.ftruncate(self._lock, 0)
        os.pwrite(self._lock, f"{os.getpid()}\n".encode(), 0)
        for folder in (self.documents, self.logs):
            if folder.exists():
                shutil.rmtree(folder)
            folder.mkdir(mode=0o700)
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._lock)
