"""What only the socket under a transport can do or tell."""

from __future__ import annotations

import asyncio
import fcntl
import socket
import struct
import sys
import termios


def reset_on_close(transport: asyncio.Transport) -> None:
    """Make the close of a transport a reset, so that a cut answer cannot look like its end (RFC 9112 section 9.6)."""
    sock = transport.get_extra_info("socket")
    if sock is not None:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def untaken(transport: asyncio.Transport) -> int:
    """Give the bytes written that the peer has not taken; 0 where all is with the kernel at least.

    The kernel's own queue counts as well: it takes more only once a third of it is free, so that a slow peer would
    look like one that stands still.
    """
    waiting = transport.get_write_buffer_size()
    sock = transport.get_extra_info("socket") if waiting else None
    if sock is None or sock.fileno() < 0:
        return waiting
    queued = bytearray(4)
    fcntl.ioctl(sock.fileno(), termios.TIOCOUTQ, queued)
    return waiting + int.from_bytes(queued, sys.byteorder, signed=True)
