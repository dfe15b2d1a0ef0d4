"""Notices of the kernel that something in a folder changed. They say when to look, never what is there.

A notice can be missing: another machine writes to a shared folder, a link points to a place that is not watched. From
silence nothing follows but that looking by oneself may be rarer.
"""

from __future__ import annotations

import errno
import os
import sys
from typing import Self

from inotify_simple import INotify, flags

_CHANGES = (
    flags.CREATE | flags.DELETE | flags.DELETE_SELF | flags.MOVED_FROM | flags.MOVED_TO | flags.MOVE_SELF
    | flags.CLOSE_WRITE | flags.ATTRIB | flags.ONLYDIR
)  # fmt: skip
"""Not MODIFY: a log that grows beside the documents would have everything looked at all the time."""
_NO_ROOM = (errno.ENOSPC, errno.ENOMEM, errno.EMFILE, errno.ENFILE)
"""The kernel has no further watch, or no further descriptor, for us (inotify(7), `fs.inotify.max_user_watches`)."""
_ROOM = 1 << 16


class Notices:
    """Watches folders (inotify). Used by one thread at a time; `with Notices() as notices:` closes it.

    Args:
        is_complete: False where nothing is to be watched.
    """

    def __init__(self, *, is_complete: bool = True) -> None:
        self.is_complete = is_complete and sys.platform == "linux"
        """Whether every folder that was named is watched. Where it is not, silence says nothing at all."""
        self._inotify: INotify | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._inotify is not None:
            self._inotify.close()

    def watch(self, folder: str) -> None:
        """Hear of changes in this folder from now on, a second time as well as the first; not of those further below.

        One that is gone or may not be read is passed over: whoever lists it next is told by that.
        """
        if not self.is_complete:
            return
        try:
            if self._inotify is None:
                self._inotify = INotify(nonblocking=True)
            self._inotify.add_watch(folder, _CHANGES)
        except OSError as error:
            if error.errno in _NO_ROOM:
                self.is_complete = False

    def heard(self) -> bool:
        """Say whether anything came since the last call."""
        something = False
        while self._inotify is not None:
            try:
                os.read(self._inotify.fileno(), _ROOM)
            except BlockingIOError:
                break
            something = True
        return something
