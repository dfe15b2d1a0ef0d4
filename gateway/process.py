"""What the process asks of the system at its start, so that no limit on one thing starves another."""

from __future__ import annotations

import ctypes
import gc
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

SWITCH_S = 0.0005
_OWN_DESCRIPTORS = 128
"""For the admin port, probes, the log, documents being read."""
_FULL = 2
"""Generation of a collection that looks at everything."""
_MANY_OBJECTS = 20_000
"""Looked through in two milliseconds."""
_MANY_DOCUMENTS = 500
_NEVER = 1_000_000_000
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_GIVEN_BACK = 128 * 1024


def settle() -> None:
    """Keep what is not a request from holding requests up.

    Start-up objects leave the garbage collector's sight, since requests leave it nothing of theirs to look at. Threads
    that write the log, read the folder or parse documents give the interpreter back after half a millisecond, not five.
    """
    gc.collect()
    gc.freeze()
    sys.setswitchinterval(SWITCH_S)


class SetAside:
    """Keeps what lasts out of the garbage collector's sight, so that no collection is long.

    A full collection looks at every object and holds everything up meanwhile: a third of a second with ten thousand
    contracts, a tenth with ten thousand instances. So what survived one is set aside where it is much, and while
    thousands of documents are taken in none is made at all. What is set aside is still freed when nothing refers to it.
    Only what becomes a ring of garbage later stays, and that has a bound: the next time takes a sixteenth of all that
    was ever set aside.
    """

    def __init__(self) -> None:
        self._aside = 0
        self._waiting = 0

    def watch(self) -> None:
        """Look at every full collection from now on."""
        gc.callbacks.append(self._collected)

    @contextmanager
    def taking_in(self, documents: int) -> Iterator[None]:
        """Do this around what takes in so many documents that came or changed."""
        self._waiting += documents
        if self._waiting < _MANY_DOCUMENTS:
            yield
            return
        young, middle, full = gc.get_threshold()
        gc.set_threshold(young, middle, _NEVER)
        try:
            yield
        finally:
            self._waiting = 0
            self._set_aside(len(gc.get_objects(generation=_FULL)))
            gc.set_threshold(young, middle, full)

    def _collected(self, phase: str, info: dict[str, int]) -> None:
        if phase != "stop" or info["generation"] != _FULL:
            return
        lasting = len(gc.get_objects(generation=_FULL))
        if lasting > max(_MANY_OBJECTS, self._aside / 16):
            self._set_aside(lasting)

    def _set_aside(self, objects: int) -> None:
        self._aside += objects
        gc.freeze()


def give_memory_back() -> None:
    """Let the memory of large bodies return to the system when they are gone (http.md section 4.5).

    glibc raises its threshold with every large block that is freed, and keeps what is below it: 200 MiB stayed after
    twenty bodies of 20 MB. A fixed threshold stops that. Other C libraries give memory back by themselves.
    """
    with suppress(AttributeError, OSError):
        libc = ctypes.CDLL(None)
        libc.mallopt(_M_MMAP_THRESHOLD, _GIVEN_BACK)
        libc.mallopt(_M_TRIM_THRESHOLD, _GIVEN_BACK)


def raise_descriptors() -> int:
    """Raise this process's own limit of descriptors as far as the system allows; give it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):  # a sandbox may forbid it, and what is there must then do
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        soft = hard
    return sys.maxsize if soft == resource.RLIM_INFINITY else soft


def connections_within(descriptors: int, wanted: int) -> int:
    """Say how many client connections may be open, so that workers can still be dialled and the admin port answers.

    A quarter of the descriptors is kept for connections to workers: far fewer requests are under way than connections
    are open, and instances bound them.

    Args:
        descriptors: The process's limit.
        wanted: The setting.
    """
    return max(min(wanted, descriptors - descriptors // 4 - _OWN_DESCRIPTORS), 1)
