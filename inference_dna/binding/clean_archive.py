"""A TorchScript archive without what only says where and when it was made, so that one model gives one file."""

from __future__ import annotations

import zipfile
from pathlib import Path

ROOT = "generator"
"""The folder that all members lie below."""
_ALIGNMENT = 64
"""PyTorch maps tensors at multiples of this many bytes; what it writes keeps to it, and so does the copy."""
_LOCAL_HEADER_BYTES, _EXTRA_HEADER_BYTES = 30, 4
_PADDING_ID = 0x4246


def copy_clean(source: Path, target: Path) -> None:
    """Copy an archive without source paths, traced inputs, a random identity and times.

    Args:
        source: What `torch.jit.save` wrote.
        target: Where the copy goes.
    """
    with zipfile.ZipFile(source) as read, zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as written:
        for member in read.infolist():
            name = member.filename.partition("/")[2]
            if name.endswith(".debug_pkl") or name.startswith(("traced_inputs", ".data/")):
                continue
            copied = zipfile.ZipInfo(f"{ROOT}/{name}")
            start = target.stat().st_size if written.fp is None else written.fp.tell()
            copied.extra = _padding(start + _LOCAL_HEADER_BYTES + len(copied.filename.encode()))
            written.writestr(copied, read.read(member))


def _padding(place: int) -> bytes:
    """An extra field of the length that brings the data behind it to the alignment."""
    length = -(place + _EXTRA_HEADER_BYTES) % _ALIGNMENT
    return _PADDING_ID.to_bytes(2, "little") + length.to_bytes(2, "little") + bytes(length)
