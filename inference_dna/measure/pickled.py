"""Recognises a pickle by its opcodes, without unpickling: that would run code (provenance.md section 2)."""

from __future__ import annotations

import io
import pickletools
from typing import BinaryIO

TORCH_LEGACY = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."
"""How files of PyTorch before 1.6 begin: its magic number as a pickle of its own."""

LOOKED_AT_BYTES = 64 * 1024
"""So much of a file's beginning tells what it is."""

_LOOKED_AT_OPCODES = 4096
_CONVINCING_OPCODES = 8
_PROTOCOLS = range(2, 6)
_IMPORTS = {"GLOBAL", "INST"}


def is_pickle(stream: BinaryIO) -> bool:
    """Say whether a file is a bare pickle, from its first 64 KiB.

    From protocol 2 on a pickle says so in its first two bytes; numbers may begin so by chance, so the opcodes behind
    them must make sense, too. Before that only opcodes tell: what imports something is taken for a pickle, for
    importing is how it runs code.
    """
    stream.seek(0)
    head = stream.read(LOOKED_AT_BYTES)
    return _makes_sense(head) if _is_marked(head) else _imports(head)


def states_protocol(head: bytes) -> bool:
    """Say whether the beginning of a file is that of a pickle which says so itself, as all from protocol 2 on do.

    Any text may read like an older one (`cat`, LF, `dog`, LF imports `dog` from `at`), so ask `is_pickle` only about
    files that nobody takes for text.
    """
    return _is_marked(head) and _makes_sense(head)


def _is_marked(head: bytes) -> bool:
    return len(head) > 2 and head[0] == 0x80 and head[1] in _PROTOCOLS


def _makes_sense(head: bytes) -> bool:
    opcodes = io.BytesIO(head)
    try:
        for count, _ in enumerate(pickletools.genops(opcodes)):
            if count >= _CONVINCING_OPCODES:
                return True
    # The reader meets arbitrary bytes and fails in as many ways; what ran off the end made sense so far.
    except Exception:  # noqa: BLE001
        return opcodes.tell() >= len(head)
    return True


def _imports(head: bytes) -> bool:
    try:
        for count, (opcode, argument, _) in enumerate(pickletools.genops(io.BytesIO(head))):
            if opcode.name in _IMPORTS and _names_something(argument):
                return True
            if count == _LOOKED_AT_OPCODES:
                return False
    except Exception:  # noqa: BLE001 - as above: each failure says that this is no pickle
        return False
    return False


def _names_something(argument: object) -> bool:
    """Say whether an import's argument, module and name with a blank between, could be one; prose seldom is."""
    names = str(argument).split(" ")
    return len(names) == 2 and all(part.isidentifier() for name in names for part in name.split("."))
