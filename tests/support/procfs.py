"""What the kernel knows of a process: its memory and its descriptors."""

from __future__ import annotations

import contextlib
import resource
from collections.abc import Iterator
from pathlib import Path

MIB = 1024 * 1024


def rss(pid: int) -> int:
    """Resident bytes now."""
    return _status(pid, "VmRSS")


def peak_rss(pid: int) -> int:
    """Most resident bytes so far; `forget_peak` lets the count begin anew. The kernel keeps it, so none is missed."""
    return _status(pid, "VmHWM")


def forget_peak(pid: int) -> None:
    """Let the peak be what is resident now."""
    (Path("/proc") / str(pid) / "clear_refs").write_text("5", encoding="ascii")


def descriptors(pid: int) -> int:
    """Open descriptors: sockets of clients and of workers among them."""
    return sum(1 for _ in (Path("/proc") / str(pid) / "fd").iterdir())


@contextlib.contextmanager
def soft_limit_of_descriptors(number: int) -> Iterator[None]:
    """Let this process, and those it starts meanwhile, open so many for now; says so where the machine forbids it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert hard == resource.RLIM_INFINITY or hard >= number, f"a process may open {hard} files here, not {number}"
    resource.setrlimit(resource.RLIMIT_NOFILE, (number, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def _status(pid: int, name: str) -> int:
    for line in (Path("/proc") / str(pid) / "status").read_text(encoding="ascii").splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) * 1024
    raise AssertionError(f"the kernel says no {name} of process {pid}")
