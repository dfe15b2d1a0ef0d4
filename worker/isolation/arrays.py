"""Tells whether the values of a tensor or an array were written: of a large one by samples, or by the sum of all."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Mapping
from typing import Any

from worker.isolation.text import told

_WHOLE_BYTES = 1 << 16
_SAMPLES = 4096
"""Values that are read of a larger one, evenly spaced. One value written around the counter is missed: see `sums`."""


def array_text(value: object) -> str | None:
    """Describe a tensor of PyTorch or an array of numpy; None for anything else."""
    torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
    if torch is not None and isinstance(value, torch.Tensor):
        return _tensor_text(torch, value)
    if numpy is not None and isinstance(value, numpy.ndarray):
        held = "" if value.dtype.hasobject else _checksum(numpy.ascontiguousarray(value).reshape(-1).view("u1"))
        return told(f"array {value.dtype} {value.shape}", held)
    return None


def sums(models: Mapping[str, object]) -> dict[str, int]:
    """Add up every large tensor of modules of PyTorch, as whole numbers: one value that was written changes it.

    It reads all weights once, as the computation of one token does, and takes about as long.
    """
    torch = sys.modules.get("torch")
    tensors = [
        (f"{path}.{name}", tensor.detach())
        for path, model in models.items()
        if torch is not None and isinstance(model, torch.nn.Module)
        for held in (model.named_parameters(), model.named_buffers())
        for name, tensor in held
    ]
    return {path: _sum(torch, tensor) for path, tensor in tensors if _may_be_added_up(torch, tensor)}


def _may_be_added_up(torch: Any, tensor: Any) -> bool:
    is_plain = tensor.layout == torch.strided and tensor.device.type != "meta" and not tensor.is_quantized
    return is_plain and tensor.is_contiguous() and tensor.numel() * tensor.element_size() > _WHOLE_BYTES


def _sum(torch: Any, tensor: Any) -> int:
    octets = tensor.reshape(-1).view(torch.uint8)
    even = octets.numel() // 8 * 8
    # What is no multiple of eight bytes has a rest of a few; PyTorch wants the start to be one, and tensors start so.
    return int(octets[:even].view(torch.int64).sum()) + int(octets[even:].sum())


def _tensor_text(torch: Any, tensor: Any) -> str:
    grad = ", with a gradient" if tensor.is_leaf and tensor.grad is not None else ""
    what = f"tensor {tensor.dtype} {tuple(tensor.shape)} on {tensor.device}, grad={tensor.requires_grad}{grad}"
    if tensor.device.type == "meta" or tensor.layout != torch.strided or tensor.is_quantized:
        return told(what, id(tensor))
    # The counter sees every write but those through `.data`; the values see most of the rest.
    version = "" if tensor.is_inference() else tensor._version
    flat = tensor.detach()
    flat = flat.reshape(-1) if flat.is_contiguous() else flat.flatten()
    if flat.numel() * flat.element_size() > _WHOLE_BYTES:
        flat = flat[:: max(1, flat.numel() // _SAMPLES)]
    held = flat.contiguous().cpu()
    return told(what, f"{tensor.data_ptr()} {version} {_checksum(held.view(torch.uint8).numpy())}")


def _checksum(array: Any) -> int:
    step = max(1, array.size // (_WHOLE_BYTES * 16))
    return zlib.crc32(array[::step].tobytes())
