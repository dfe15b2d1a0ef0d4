"""Measures adapters (LoRA and the like) that are loaded on top of a model (provenance.md section 2).

A new adapter under an old name is a new genome, so its files are hashed like a model's. Two faults are told early: an
adapter made for another base, and one whose keys match nothing, which silently equals the base.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from inference_dna.canonical import Refused, parse_json
from inference_dna.files import files_digest
from inference_dna.measure.folder import ModelFolder, measure_folder
from inference_dna.measure.safetensors import shown
from inference_dna.measure.work import Work

CONFIG = "adapter_config.json"

_BASE_MEMBER = "base_model_name_or_path"
_PREFIX = "base_model.model."
_MARKS = (".lora_", ".ia3_", ".hada_", ".lokr_", ".oft_", ".vera_", ".base_layer", ".modules_to_save")
"""What adapters put behind the name of the module they change."""
_OPTIONAL_PREFIXES = ("model.", "transformer.")
"""How loaded models begin the names of tensors that their files begin without."""


@dataclass(frozen=True, slots=True)
class Adapter:
    """A measured adapter: the name it is served under, its bare files digest, the base it names (None: it names none).

    `unmatched` are the modules it changes that the base does not have; empty where the base's tensors are not known.
    """

    name: str
    digest: str
    base: str | None
    unmatched: tuple[str, ...] = ()


def measure_adapter(
    name: str,
    root: Path,
    *,
    bases: Collection[str] = (),
    base_tensors: Collection[str] = (),
    work: Work | None = None,
) -> Adapter:
    """Measure the folder of one adapter.

    Args:
        name: The name it is served under.
        root: Its folder.
        bases: Names and paths the served model goes by; empty where that is not known.
        base_tensors: Names of the served model's tensors (`ModelFolder.tensor_names`); empty where not known.
        work: As in `measure_folder`.

    Raises:
        Refused: The folder cannot be measured, names another base, or changes no tensor that the base has.
    """
    folder = measure_folder(root, keep=[CONFIG], work=work)
    base = _base(name, folder)
    if base is not None and bases and base not in bases:
        raise Refused(f"The adapter {name!a} was made for {base!a}, not for {shown(bases)}.")
    modules = {_module(tensor) for tensor in folder.tensor_names}
    unmatched = sorted(module for module in modules if not _is_in(module, base_tensors)) if base_tensors else []
    if modules and len(unmatched) == len(modules):
        raise Refused(f"The adapter {name!a} is inert: the base has none of the modules it changes ({shown(modules)}).")
    entries = (*folder.weights, *folder.tokenizer, *folder.postprocess)
    return Adapter(name, files_digest(entries), base, tuple(unmatched))


def _base(name: str, folder: ModelFolder) -> str | None:
    config = parse_json(folder.kept[CONFIG])
    base = config.get(_BASE_MEMBER) if isinstance(config, dict) else None
    if base is not None and not isinstance(base, str):
        raise Refused(f"The adapter {name!a} names its base by something that is no text.")
    return base or None


def _module(tensor: str) -> str:
    module = tensor.removeprefix(_PREFIX)
    ends = [module.find(mark) for mark in _MARKS if mark in module]
    return module[: min(ends)] if ends else module


def _is_in(module: str, base_tensors: Collection[str]) -> bool:
    bare = [module.removeprefix(prefix) for prefix in _OPTIONAL_PREFIXES if module.startswith(prefix)]
    return any(name in base_tensors or f"{name}.weight" in base_tensors for name in (module, *bare))
