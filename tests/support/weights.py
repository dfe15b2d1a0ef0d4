"""Writes small weight files of every kind byte by byte, so that tests can make each of their parts wrong."""

from __future__ import annotations

import json
import struct
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

GRAPH = b"\x08\x0a:\x07\x12\x05graph"
"""An ONNX model of eleven bytes: a version, and a graph that has a name and nothing else."""

_GGUF_FORMS = {bool: (7, "?"), int: (4, "I"), float: (6, "f")}


def safetensors(tensors: Mapping[str, bytes], *, dtype: str = "U8", metadata: Mapping[str, str] | None = None) -> bytes:
    """A file of one-dimensional tensors of bytes, in the order given."""
    header: dict[str, Any] = {"__metadata__": dict(metadata)} if metadata else {}
    place = 0
    for name, data in tensors.items():
        header[name] = {"dtype": dtype, "shape": [len(data)], "data_offsets": [place, place + len(data)]}
        place += len(data)
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + b"".join(tensors.values())


def index(weight_map: Mapping[str, str]) -> bytes:
    """An index over shards."""
    return json.dumps({"metadata": {"total_size": 1}, "weight_map": dict(weight_map)}).encode()


def gguf(
    metadata: Sequence[tuple[str, Any]] = (("general.architecture", "llama"),),
    tensors: Mapping[str, bytes] | None = None,
    *,
    version: int = 3,
    order: str = "<",
    kind: int = 24,
) -> bytes:
    """A file of one-dimensional tensors of type I8; metadata values are texts, numbers or lists of those."""
    tensors = {"a": b"abc", "b": bytes(40)} if tensors is None else tensors
    head = b"GGUF" + struct.pack(f"{order}IQQ", version, len(tensors), len(metadata))
    head += b"".join(_text(key, order) + _value(value, order) for key, value in metadata)
    place = 0
    for name, data in tensors.items():
        head += _text(name, order) + struct.pack(f"{order}IQIQ", 1, len(data), kind, place)
        place += _padded(len(data))
    body = b"".join(data.ljust(_padded(len(data)), b"\0") for data in tensors.values())
    return head.ljust(_padded(len(head)), b"\0") + body


def archive(path: Path, members: Mapping[str, bytes], *, compression: int = zipfile.ZIP_STORED) -> Path:
    """A ZIP archive."""
    with zipfile.ZipFile(path, "w", compression) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return path


def _text(text: str, order: str) -> bytes:
    raw = text.encode()
    return struct.pack(f"{order}Q", len(raw)) + raw


def _value(value: Any, order: str) -> bytes:
    kind, content = _typed(value, order)
    return struct.pack(f"{order}I", kind) + content


def _typed(value: Any, order: str) -> tuple[int, bytes]:
    if isinstance(value, str):
        return 8, _text(value, order)
    if isinstance(value, list):
        items = [_typed(item, order) for item in value]
        head = struct.pack(f"{order}IQ", items[0][0] if items else 4, len(items))
        return 9, head + b"".join(content for _, content in items)
    kind, form = _GGUF_FORMS[type(value)]
    return kind, struct.pack(order + form, value)


def _padded(length: int) -> int:
    return -(-length // 32) * 32
