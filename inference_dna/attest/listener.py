"""Finds the process that listens on a port: who answers there, not who is said to (provenance.md section 7)."""

from __future__ import annotations

import os
from pathlib import Path

from inference_dna.attest.process import PROC, Process, below, parent_of, running
from inference_dna.canonical import Refused

_TABLES = ("net/tcp", "net/tcp6")
_LISTENS = "0A"


def listener(port: int) -> Process | None:
    """Find the process that listens on a port; of several that share the socket, the one above the others.

    Returns:
        None where nobody does, or nobody whose open files we may see.

    Raises:
        Refused: Several do that have nothing to do with each other.
    """
    sockets = _sockets(PROC / "self", port)
    holders = {int(entry.name) for entry in PROC.iterdir() if entry.name.isdigit() and _holds(entry, sockets)}
    tops = [pid for pid in sorted(holders) if parent_of(pid) not in holders]
    if len(tops) > 1:
        raise Refused(
            f"The processes {' and '.join(map(str, tops))} all listen on port {port}; nobody knows who answers."
        )
    return running(tops[0]) if tops else None


def answers_for(process: Process, port: int) -> bool:
    """Say whether a process, or one below it, is who listens on a port."""
    sockets = _sockets(process.folder, port)
    return any(_holds(each.folder, sockets) for each in (process, *below(process)))


def _sockets(folder: Path, port: int) -> set[str]:
    """Sockets of a process's network that listen on the port, as open files name them."""
    found = set()
    for table in [folder / name for name in _TABLES]:
        for line in table.read_text(encoding="ascii").splitlines()[1:] if table.exists() else ():
            fields = line.split()
            if fields[3] == _LISTENS and int(fields[1].rpartition(":")[2], 16) == port:
                found.add(f"socket:[{fields[9]}]")
    return found


def _holds(folder: Path, sockets: set[str]) -> bool:
    try:
        return any(os.readlink(entry) in sockets for entry in (folder / "fd").iterdir())
    except OSError:  # it ended meanwhile, or belongs to somebody else
        return False
