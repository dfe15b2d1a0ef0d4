"""What Consul last listed of each service, on disk, for a start without Consul.

One file per service: the sha256 of the reply on a line, then the reply as Consul wrote it. A file is replaced whole or
not at all; one that is damaged or too old counts as none. Its time of change says when Consul last said so.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from gateway.printable import printable
from gateway.sources.kept import CopyUnwritable, replace_whole


@dataclass(frozen=True, slots=True)
class KeptList:
    """A reply of Consul, and how many seconds ago it last held."""

    body: bytes
    age_s: float


class ListCopies:
    """The folder.

    Args:
        folder: Made when the first file is written.
        limit_s: What was not confirmed for longer is not used.
        wall: Epoch clock.
    """

    def __init__(self, folder: Path, *, limit_s: float, wall: Callable[[], float]) -> None:
        self._folder = folder
        self._limit_s = limit_s
        self._wall = wall

    def load(self, service: str) -> KeptList | None:
        """Read the last list of a service; None where there is none that may be used."""
        file = self._file(service)
        try:
            age_s = max(0.0, self._wall() - file.stat().st_mtime)
            sha, _, body = file.read_bytes().partition(b"\n")
        except OSError:
            return None  # with no list of its own the service waits for Consul, which its status says
        is_whole = sha == _sha(body)
        return KeptList(body, age_s) if is_whole and age_s <= self._limit_s else None

    def save(self, service: str, body: bytes) -> None:
        """Keep a list.

        Raises:
            CopyUnwritable: It cannot be written.
        """
        try:
            replace_whole(self._file(service), _sha(body) + b"\n" + body)
        except OSError as error:
            raise CopyUnwritable(self._unwritable(error)) from error

    def confirm(self, service: str, body: bytes) -> None:
        """Note that the list still holds; keep it anew where its file is gone.

        Raises:
            CopyUnwritable: It cannot be written.
        """
        try:
            os.utime(self._file(service))
        except OSError:
            self.save(service, body)

    def _file(self, service: str) -> Path:
        return self._folder / f"{quote(service, safe='')}.json"

    def _unwritable(self, error: OSError) -> str:
        return f"the lists of instances cannot be kept in {printable(str(self._folder))}: {error.strerror}"


def _sha(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest().encode()
