"""What the code of a TorchScript module could have written: its attributes, by the names that stand in its graphs.

PyTorch lists attributes only by printing them, weights and all, which takes a minute for a small language model. But
compiled code reaches an attribute by its name, and the names are as fixed as the code.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

_NAMES = re.compile(r'prim::[GS]etAttr\[name="([^"]+)"\]')

# dna: allow shared-container what is kept is the code's own and never changes
_KNOWN: WeakKeyDictionary[Any, frozenset[str]] = WeakKeyDictionary()


def inside_of_compiled(module: Any) -> Mapping[str, object]:
    """Give flags, attributes, parameters and buffers of a module and its parts, by their paths."""
    inside: dict[str, object] = {"training": [part.training for part in module.modules()]}
    for path, part in module.named_modules():
        for name in _names_in(part):
            inside[f"{path}.{name}".lstrip(".")] = part._c.getattr(name)
    return {**inside, **dict(module.named_parameters()), **dict(module.named_buffers())}


def _names_in(part: Any) -> frozenset[str]:
    """Name the attributes that the code of one part reads or writes and that are no parts themselves."""
    known = _KNOWN.get(part)
    if known is None:
        code = "".join(str(part._c._get_method(name).graph) for name in part._c._method_names())
        parts = {name for name, _ in part.named_children()}
        known = frozenset(name for name in _NAMES.findall(code) if name not in parts and part._c.hasattr(name))
        _KNOWN[part] = known
    return known
