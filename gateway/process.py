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
_MANY_DOCUMENTS = 500
_MIDDLE_PER_FULL = 100
"""Full collections come after at least so many of the middle generation, which is after 700,000 objects that stay."""
_NEVER = 1_000_000_000
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_GIVEN_BACK = 128 * 1024


def settle() -> None:
    """Keep what is not a request from holding requests up.

    Start-up objects leave the garbage collector's sight, since requests leave it nothing of theirs to look at. A full
    collection also looks at the state of every instance, a tenth of a second with ten thousand; it comes a tenth as
    often as usual, or each edit among as many documents would bring one. Threads that write the log, read the folder or
    parse documents give the interpreter back after half a millisecond, not five.
    """
    gc.collect()
    gc.freeze()
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, _MIDDLE_PER_FULL)
    sys.setswitchinterval(SWITCH_S)


class SetAside:
    """Keeps what thousands of documents are made of out of the garbage collector's sight.

    A full collection looks at every object, holds everything up meanwhile, and takes a third of a second with ten
    thousand contracts. So none is made while many are taken in, and then what they are made of is set aside. It is
    still freed when nothing refers to it; what happened to be garbage at that moment stays, and that is no leak: it
    happens once for so many documents that came or changed.
    """

    def __init__(self) -> None:
        self._waiting = 0

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
            gc.freeze()
            gc.set_threshold(young, middle, full)


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
