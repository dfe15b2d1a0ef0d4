"""Which file system a file lies on, and whether its attributes can be believed (provenance.md section 8)."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

BELIEVED = frozenset({"btrfs", "ext2", "ext3", "ext4", "f2fs", "tmpfs", "xfs"})
"""Local ones whose kernel sets ctime at every change. On network, FUSE and object-store mounts attributes are cached or
invented; what is not in this list is treated as one of those."""

_FDINFO, _MOUNTS = Path("/proc/self/fdinfo"), Path("/proc/self/mountinfo")
_MOUNT_ID = "mnt_id:"


def file_system(descriptor: int) -> str | None:
    """The type of the file system that an open file lies on; None where the kernel does not say."""
    try:
        fdinfo = (_FDINFO / str(descriptor)).read_text(encoding="utf-8")
        mounts = _MOUNTS.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return mounted_type(fdinfo.splitlines(), mounts.splitlines())


def file_system_id(descriptor: int) -> int:
    """The kernel's number for the file system itself: device numbers are handed out anew, this one rarely."""
    return os.fstatvfs(descriptor).f_fsid


def mounted_type(fdinfo: Iterable[str], mounts: Iterable[str]) -> str | None:
    """Find the type of a descriptor's mount.

    Args:
        fdinfo: Lines of `/proc/<pid>/fdinfo/<descriptor>`.
        mounts: Lines of `/proc/<pid>/mountinfo`: an id first, the type first after the lone `-`.
    """
    mount = next((line.split()[1] for line in fdinfo if line.startswith(_MOUNT_ID)), None)
    for line in mounts:
        before, _, after = line.partition(" - ")
        if mount is not None and before.split(maxsplit=1)[:1] == [mount]:
            return after.split(maxsplit=1)[0] if after else None
    return None
