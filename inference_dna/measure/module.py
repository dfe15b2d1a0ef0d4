"""The digest of a loaded `torch.nn.Module`: what is in memory, not what lies on disk.

Names, dtypes, shapes and bytes of every parameter and buffer, over copies in the processor's memory. Its text is that
of the tensor digest (dna.md section 3), so a module that was loaded without conversion has the digest of its
safetensors files. The device stands beside it: the same numbers on another device are the same digest.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from inference_dna.canonical import Json, Refused
from inference_dna.digest import ALGORITHM
from inference_dna.extra import needing
from inference_dna.files import TensorEntry, tensors_digest
from inference_dna.measure.hashing import run_all
from inference_dna.measure.reading import OnBytes
from inference_dna.measure.work import Tally, Work

DTYPES: Mapping[str, str] = {
    "bool": "BOOL", "uint8": "U8", "int8": "I8", "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2",
    "float8_e8m0fnu": "F8_E8M0", "float8_e4m3fnuz": "F8_E4M3FNUZ", "float8_e5m2fnuz": "F8_E5M2FNUZ",
    "int16": "I16", "uint16": "U16", "float16": "F16", "bfloat16": "BF16", "int32": "I32", "uint32": "U32",
    "float32": "F32", "int64": "I64", "uint64": "U64", "float64": "F64", "complex64": "C64",
}  # fmt: skip
"""Names of dtypes as safetensors writes them, by PyTorch's."""


@dataclass(frozen=True, slots=True)
class ModuleDigest:
    """The tensors of a loaded module.

    Attributes:
        tensors: Parameters and buffers that are saved with the module, sorted by name. Tied tensors stand under each
            of their names.
        transient: Buffers that are not saved, such as tables of rotary embeddings. They shape answers as well.
        devices: How many tensors lie on each device, by its name (`cpu`, `cuda:0`).
        dtypes: How many of the tensors are of each dtype.
    """

    tensors: tuple[TensorEntry, ...]
    transient: tuple[TensorEntry, ...]
    devices: Mapping[str, int]
    dtypes: Mapping[str, int]

    @property
    def digest(self) -> str:
        """The bare tensor digest over `tensors`."""
        return tensors_digest(self.tensors)

    def document(self) -> dict[str, Json]:
        """The digest with what stands beside it."""
        return {
            "tensors": ALGORITHM + self.digest,
            "transient": ALGORITHM + tensors_digest(self.transient) if self.transient else None,
            "count": len(self.tensors),
            "dtypes": dict(self.dtypes),
            "devices": dict(self.devices),
        }


def measure_module(module: Any, *, work: Work | None = None) -> ModuleDigest:
    """Hash every parameter and buffer of a loaded module, one tensor per thread.

    Args:
        module: A `torch.nn.Module`. Its tensors are read, not changed and not moved.
        work: Threads and progress.

    Raises:
        Refused: PyTorch is missing; a tensor has no data (device `meta`) or a layout or dtype that has no bytes of its
            own (sparse, quantised).
    """
    saved = dict(module.state_dict(keep_vars=True))
    transient = {name: value for name, value in module.named_buffers() if name not in saved}
    entries = _hash_all({**saved, **transient}, work or Work())
    held = [value for value in (*saved.values(), *transient.values()) if _is_tensor(value)]
    return ModuleDigest(
        tensors=tuple(entry for entry in entries if entry.name in saved),
        transient=tuple(entry for entry in entries if entry.name in transient),
        devices=_counted(str(value.device) for value in held),
        dtypes=_counted(entry.dtype for entry in entries),
    )


def _counted(names: Any) -> Mapping[str, int]:
    return dict(sorted(Counter(names).items()))


def _is_tensor(value: object) -> bool:
    with needing("torch", "models"):
        import torch
    return isinstance(value, torch.Tensor)


def _hash_all(values: Mapping[str, Any], work: Work) -> list[TensorEntry]:
    # A module may save more than tensors (extra state of any type); what is no tensor has no bytes to hash.
    named = {name: value for name, value in values.items() if _is_tensor(value)}
    jobs = [(_size(value), _job(name, value)) for name, value in named.items()]
    tally = Tally(sum(size for size, _ in jobs), work.watch, what="tensors")
    return sorted(run_all(jobs, work.thread_count, tally), key=lambda entry: entry.name)


def _size(tensor: Any) -> int:
    return int(tensor.numel()) * int(tensor.element_size())


def _job(name: str, tensor: Any) -> Callable[[OnBytes], TensorEntry]:
    return lambda on_bytes: _hash(name, tensor, on_bytes)


def _hash(name: str, tensor: Any, on_bytes: OnBytes) -> TensorEntry:
    dtype = DTYPES.get(str(tensor.dtype).removeprefix("torch."))
    if dtype is None or tensor.is_meta or str(tensor.layout) != "torch.strided":
        state = "on the device meta" if tensor.is_meta else f"a {tensor.layout} tensor of {tensor.dtype}"
        raise Refused(f"The tensor {name!a} is {state}: it has no plain bytes to hash.")
    on_bytes(_size(tensor))
    return TensorEntry(name, dtype, tuple(map(int, tensor.shape)), sha256(_bytes(tensor)).hexdigest())


def _bytes(tensor: Any) -> memoryview:
    """The little-endian bytes of a tensor in C order, from a copy in the processor's memory where it lies elsewhere."""
    import torch

    if sys.byteorder == "big":
        raise Refused("Tensors in memory can only be hashed on little-endian machines.")
    plain = tensor.detach().resolve_conj().resolve_neg().cpu().contiguous().reshape(-1)
    return memoryview(plain.view(torch.uint8).numpy()) if plain.numel() else memoryview(b"")
