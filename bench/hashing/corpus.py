"""Makes the folders to hash: the same amount in shards and in one file, as safetensors that parse."""

from __future__ import annotations

import json
import os
import shutil
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.places import CACHE

SHAPES = {"8 shards": 8, "one file": 1}
"""Number of weight files by the name of the shape; a hash cannot be split, so one file is one core's work."""

_BLOCK_BYTES = 4 * 1024 * 1024
_SMALL = {"config.json": b'{"architectures": ["X"]}', "tokenizer.json": b"{}", "generation_config.json": b"{}"}


@contextmanager
def corpus(shape: str, gigabytes: float) -> Iterator[Path]:
    """Write a folder of so many GB (10^9 bytes) and take it away afterwards.

    What is inside does not change the speed of a hash; only each file's beginning differs. It lies on the disk of the
    cache, and is read once before it is measured.
    """
    folder = CACHE / "hashing"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        count = SHAPES[shape]
        for number in range(count):
            _write(folder / f"model-{number + 1:05d}-of-{count:05d}.safetensors", int(gigabytes * 1e9 / count))
        for name, content in _SMALL.items():
            (folder / name).write_bytes(content)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def size_of(folder: Path) -> int:
    """Bytes of all files."""
    return sum(file.stat().st_size for file in folder.iterdir())


def _write(path: Path, size: int) -> None:
    header = json.dumps({path.name: {"dtype": "U8", "shape": [size], "data_offsets": [0, size]}}).encode()
    block = os.urandom(_BLOCK_BYTES)
    with path.open("wb") as stream:
        stream.write(struct.pack("<Q", len(header)) + header)
        left = size
        while left > 0:
            left -= stream.write(block[: min(left, len(block))])
