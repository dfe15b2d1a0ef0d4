"""Values of a running program as a genome can hold them.

Numbers, texts and their collections stay what they are, long collections become their length and digest. Tensors
become their dtype, shape and digest: their elements read as numbers would be other numbers (0.7 in float32 is
0.699999988079071). Whatever has no plain form is described by its class and its attributes.
"""

from __future__ import annotations

import enum
import inspect
import math
import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from hashlib import sha256
from pathlib import PurePath
from typing import Any

from inference_dna.canonical import Json, canonical
from inference_dna.digest import ALGORITHM

_DEPTH = 8
_LONGEST = 256
"""Members of a collection that are written out: a vocabulary inside a processor is no reading matter."""
_INT64 = range(-(2**63), 2**63)


def plain(value: Any) -> Json:
    """Describe a value; the same value gives the same description in every process."""
    return _plain(value, _DEPTH)


def _plain(value: Any, depth: int) -> Json:
    match value:
        case enum.Enum():
            return _plain(value.value, depth)
        case None | bool() | str():
            return value
        case int():
            return int(value) if value in _INT64 else str(value)
        case float():
            return _number(value)
        case _ if depth > 0:
            return _collection(value, depth - 1)
        case _:
            return {"type": _type_name(value)}


def _number(value: float) -> Json:
    # These have no canonical form, and one of them is the usual mask of a logits processor.
    if not math.isfinite(value) or (value == 0.0 and math.copysign(1.0, value) < 0):
        return str(float(value))
    return float(value)


def _collection(value: Any, depth: int) -> Json:
    match value:
        case Mapping():
            return _shortened(_mapping(value, depth), len(value))
        case list() | tuple():
            return _shortened([_plain(item, depth) for item in value], len(value))
        case AbstractSet():
            return _shortened(sorted([_plain(item, depth) for item in value], key=repr), len(value))
        case bytes() | bytearray():
            return {"bytes": ALGORITHM + sha256(value).hexdigest()}
        case PurePath():
            return value.as_posix()
        case re.Pattern():
            return {"pattern": value.pattern, "flags": value.flags}
        case _:
            return _instance(value, depth)


def _instance(value: Any, depth: int) -> Json:
    if _is_tensor(value):
        return _tensor(value)
    if inspect.isclass(value) or inspect.isroutine(value) or inspect.ismodule(value):
        return {"name": f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', value.__name__)}"}
    if type(value).__module__ == "torch":  # a dtype, a device, a layout: no state beside what is printed
        return str(value)
    return _object(value, depth)


def _shortened(described: Json, length: int) -> Json:
    if length <= _LONGEST:
        return described
    return {"count": length, "sha256": sha256(canonical(described).encode()).hexdigest()}


def _mapping(value: Mapping[Any, Any], depth: int) -> Json:
    if all(isinstance(name, str) for name in value):
        return {name: _plain(value[name], depth) for name in sorted(value)}
    # Names that are no texts, such as tuples of ids: pairs, in an order of their own.
    return sorted([[_plain(name, depth), _plain(each, depth)] for name, each in value.items()], key=repr)


def _object(value: Any, depth: int) -> Json:
    held = getattr(value, "__dict__", {})
    attributes = {name: _plain(held[name], depth) for name in sorted(held) if not name.startswith("__")}
    return {"type": _type_name(value), **({"attributes": attributes} if attributes else {})}


def _is_tensor(value: Any) -> bool:
    return all(hasattr(value, name) for name in ("dtype", "shape", "tobytes")) or all(
        hasattr(value, name) for name in ("dtype", "shape", "detach")
    )


def _tensor(value: Any) -> Json:
    """Little-endian bytes in C order, whichever library holds them."""
    if hasattr(value, "detach"):
        import torch

        flat = value.detach().cpu().contiguous().reshape(-1).view(torch.uint8)
        content = bytes(flat.numpy())
    else:
        content = value.tobytes()
    return {
        "dtype": str(value.dtype).removeprefix("torch."),
        "shape": [int(side) for side in value.shape],
        "sha256": sha256(content).hexdigest(),
    }


def _type_name(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"
