"""A running process as the kernel tells of it: who it is, since when, how it was started, what it has mapped.

A process id alone names nobody: it is used again. With the time of its start it is one process for good.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from inference_dna.canonical import Refused
from inference_dna.measure.reading import reading_errors

PROC = Path("/proc")
_PARENT, _START = 1, 19
"""Places in `/proc/<pid>/stat` behind the name in parentheses."""
_FIELDS = 6
"""Of a line of `/proc/<pid>/maps` that names a file."""


@dataclass(frozen=True, slots=True)
class Mapped:
    """A mapped file: where it lies, and whether it is gone from the path under which it was opened."""

    device: int
    inode: int
    is_gone: bool


@dataclass(frozen=True, slots=True)
class Process:
    """One process for good: its id and when it started, in clock ticks since the machine did."""

    pid: int
    start: int

    @property
    def folder(self) -> Path:
        """Where the kernel tells of it."""
        return PROC / str(self.pid)

    @property
    def start_s(self) -> float:
        """The latest moment at which it can have started, in seconds since the machine did."""
        # The kernel cuts off what is less than a tick.
        return (self.start + 1) / os.sysconf("SC_CLK_TCK")

    def is_running(self) -> bool:
        """Say whether this very process still runs; one that waits to be buried does not."""
        return running(self.pid) == self


def running(pid: int) -> Process | None:
    """Find the process of an id; None where there is none, or none that runs."""
    fields = _stat(pid)
    return None if fields is None or fields[0] in "ZX" else Process(pid, int(fields[_START]))


def require_running(pid: int) -> Process:
    """As `running`.

    Raises:
        Refused: There is none.
    """
    found = running(pid)
    if found is None:
        raise Refused(f"There is no process {pid}.")
    return found


def arguments(process: Process) -> tuple[str, ...]:
    """The command line as the process was started with it.

    Raises:
        Refused: It cannot be read.
    """
    return tuple(_parts(process, "cmdline"))


def environment(process: Process) -> dict[str, str]:
    """The environment at the start; what the process changed later does not show.

    Raises:
        Refused: It cannot be read: that takes the same user, or CAP_SYS_PTRACE.
    """
    pairs = [part.partition("=") for part in _parts(process, "environ")]
    return {name: value for name, _, value in pairs}


def mappings(process: Process) -> str:
    """What the process and those below it have mapped, one text: engines compute in children of their own.

    Raises:
        Refused: It cannot be read.
    """
    texts = []
    for each in (process, *below(process)):
        with reading_errors(f"the mappings of process {each.pid}"):
            texts.append((each.folder / "maps").read_text(encoding="utf-8", errors="surrogateescape"))
    return "".join(texts)


def mapped_files(maps: str) -> dict[str, Mapped]:
    """The mapped files by the path under which the process opened them."""
    found = {}
    for line in maps.splitlines():
        fields = line.split(maxsplit=5)
        if len(fields) == _FIELDS and fields[5].startswith("/"):
            path = fields[5].removesuffix(" (deleted)")
            major, _, minor = fields[3].partition(":")
            found[path] = Mapped(os.makedev(int(major, 16), int(minor, 16)), int(fields[4]), path != fields[5])
    return found


def below(process: Process) -> tuple[Process, ...]:
    """Its children, theirs, and so on, that run now."""
    parents = dict(_parents())
    found, level = [], {process.pid}
    while level:
        level = {pid for pid, parent in parents.items() if parent in level}
        found += sorted(level)
    return tuple(each for pid in found if (each := running(pid)) is not None)


def parent_of(pid: int) -> int | None:
    """The id of its parent, None where there is no such process."""
    fields = _stat(pid)
    return None if fields is None else int(fields[_PARENT])


def program(process: Process) -> Path:
    """The program file it runs, links resolved, as the process itself would name it.

    Raises:
        Refused: It cannot be read.
    """
    with reading_errors(f"the program of process {process.pid}"):
        return Path((process.folder / "exe").readlink())


def seen_by(process: Process, path: str | Path) -> Path:
    """Where a path of the process lies for us: it may run in a container of its own, or in another folder."""
    named, is_shared = Path(path), shares_files(process)
    if not is_shared:
        return process.folder / ("root" if named.is_absolute() else "cwd") / str(named).lstrip("/")
    with reading_errors(f"the folder of process {process.pid}"):
        return (process.folder / "cwd").readlink() / named


def shares_files(process: Process) -> bool:
    """Say whether the process sees the same files under the same paths as we do.

    Raises:
        Refused: It cannot be read: that takes the same user, or CAP_SYS_PTRACE.
    """
    with reading_errors(f"the root folder of process {process.pid}"):
        theirs, ours = process.folder, PROC / "self"
        # One root folder may have other folders mounted into it for them than for us.
        has_our_mounts = (theirs / "ns" / "mnt").readlink() == (ours / "ns" / "mnt").readlink()
        return has_our_mounts and (theirs / "root").samefile(ours / "root")


def _parts(process: Process, name: str) -> list[str]:
    with reading_errors(f"the {name} of process {process.pid}"):
        text = (process.folder / name).read_bytes().decode("utf-8", "surrogateescape")
    return text.removesuffix("\0").split("\0") if text else []


def _parents() -> Iterator[tuple[int, int]]:
    for entry in PROC.iterdir():
        if entry.name.isdigit() and (parent := parent_of(int(entry.name))) is not None:
            yield int(entry.name), parent


def _stat(pid: int) -> list[str] | None:
    try:
        text = (PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The name may hold spaces and parentheses; the last one ends it.
    return text.rpartition(")")[2].split()
