"""Measures a live transformers model in this process into a complete genome (dna.md section 1).

Read `measure` to see what is asked of whom: files for the weights, the live tokenizer for the probe, `generate` for the
effective values, PyTorch for its state, the driver for the devices. Nothing is copied from a configuration file that
the running process could be asked.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from inference_dna.canonical import Json, Refused
from inference_dna.headers import FORMAT_NAME
from inference_dna.measure.adapters import measure_adapter
from inference_dna.measure.code.plain import plain
from inference_dna.measure.code.reads import find_reads, variables_of
from inference_dna.measure.code.source import Source, read_source
from inference_dna.measure.environment import settings_environment, value_digests
from inference_dna.measure.folder import ModelFolder, measure_model, weights_section
from inference_dna.measure.generation import read_generation
from inference_dna.measure.packages import TRANSFORMERS_PACKAGES
from inference_dna.measure.postprocess import postprocess_section
from inference_dna.measure.pytorch.stack import Machine, torch_framework, torch_hardware
from inference_dna.measure.pytorch.state import parameter_dtypes
from inference_dna.measure.served_tokenizer import Paths, tokenizer_of

_ENGINE = "transformers"


def measure(
    model: Any,
    tokenizer: Any,
    *,
    folder: Path | ModelFolder,
    processors: Sequence[object] = (),
    filters: Sequence[Callable[..., Any]] = (),
    defaults: Mapping[str, Any] | None = None,
    adapters: Mapping[str, Path] | None = None,
    paths: Paths | None = None,
    environ: Mapping[str, str] | None = None,
    machine: Machine | None = None,
    bind: Sequence[str] = (),
) -> dict[str, Json]:
    """Measure all five sections. Call it after the model computed once: only then are all its libraries mapped.

    Args:
        model: A loaded `PreTrainedModel`, on its device.
        tokenizer: The tokenizer that requests go through.
        folder: What `from_pretrained` was given, or that folder measured already.
        processors: Own logits processors, in the order they run.
        filters: Own functions on the answer, in the order they run.
        defaults: What the worker gives to `generate` for a request without parameters.
        adapters: Folders of the adapters that are loaded, by name.
        paths: Own paths to token ids.
        environ: The environment of this process; None reads it.
        machine: Sources of hardware facts; None looks for them on this machine.
        bind: Evidence that the contract asks to be decisive.

    Returns:
        A genome document, for `inference_dna.genome.genome`.

    Raises:
        Refused: A fact could not be read; the message names it.
    """
    environ = dict(os.environ) if environ is None else environ
    files = measure_model(folder) if isinstance(folder, Path) else folder
    return {
        "format": FORMAT_NAME,
        "bind": list(bind),
        "tokenizer": tokenizer_of(tokenizer, files.tokenizer, paths=paths or Paths(), environ=environ),
        "postprocess": postprocess_of(
            model, tokenizer, files, processors=processors, filters=filters, defaults=defaults or {}, environ=environ
        ),
        "framework": framework_of(model, environ=environ),
        "hardware": hardware_of(model, machine=machine or Machine()),
        "weights": weights_of(model, files, adapters=adapters or {}),
    }


def weights_of(model: Any, folder: ModelFolder, *, adapters: Mapping[str, Path]) -> dict[str, Json]:
    """Write the weights section: files, and the precision in which the engine holds them.

    Raises:
        Refused: An adapter is loaded and not named, or named and not loaded, or cannot be measured.
    """
    loaded = set(getattr(model, "peft_config", None) or {})
    if loaded != set(adapters):
        raise Refused(
            f"The model has the adapters {sorted(loaded)} loaded and {sorted(adapters)} are named; name those that are "
            "loaded, with their folders."
        )
    digests = {
        name: measure_adapter(name, path, base_tensors=folder.tensor_names).digest for name, path in adapters.items()
    }
    return weights_section(
        folder,
        format_name=folder.form,
        load={"dtype": parameter_dtypes(model), "quantization": _quantization(model)},
        evidence={"revision": getattr(model.config, "_commit_hash", None)},
        adapters=digests,
    )


def postprocess_of(
    model: Any,
    tokenizer: Any,
    folder: ModelFolder,
    *,
    processors: Sequence[object],
    filters: Sequence[Callable[..., Any]],
    defaults: Mapping[str, Any],
    environ: Mapping[str, str],
) -> dict[str, Json]:
    """Write the postprocess section: effective values, the code that applies them, and what that code reads.

    Raises:
        Refused: The model cannot be asked, or code has no source.
    """
    kind, values, running = _decoding(model, tokenizer, defaults, processors)
    code = {
        role: [read_source(each) for each in each_role] for role, each_role in {**running, "filters": filters}.items()
    }
    sources = [source for each_role in code.values() for source in each_role]
    reads = {read for source in sources for read in find_reads(source.text, source.place, known=source.known)}
    return postprocess_section(
        kind=kind,
        values={**values, **{role: _described(each_role) for role, each_role in code.items()}},
        code={role: [source.text for source in each_role] for role, each_role in code.items()},
        files=folder.postprocess,
        environment=value_digests(variables_of(reads), environ),
        evidence={"reads": sorted(str(read) for read in reads), "settings_environment": settings_environment(environ)},
    )


def framework_of(model: Any, *, environ: Mapping[str, str]) -> dict[str, Json]:
    """Write the framework section.

    Raises:
        Refused: As `torch_framework`.
    """
    import torch

    return torch_framework(
        torch,
        engine=_ENGINE,
        packages=TRANSFORMERS_PACKAGES,
        flags=_model_flags(model),
        layout=_layout(model),
        environ=environ,
    )


def hardware_of(model: Any, *, machine: Machine) -> dict[str, Json]:
    """Write the hardware section.

    Raises:
        Refused: As `torch_hardware`.
    """
    import torch

    return torch_hardware(torch, model.device.type, machine)


def _quantization(model: Any) -> Json:
    """What the engine did while loading, with all its settings; None where it left the values as they are."""
    quantizer = getattr(model, "hf_quantizer", None)
    config = getattr(quantizer, "quantization_config", None)
    return None if config is None else plain(config.to_dict())


def _decoding(
    model: Any, tokenizer: Any, defaults: Mapping[str, Any], processors: Sequence[object]
) -> tuple[str, dict[str, Json], dict[str, Sequence[Any]]]:
    """Kind, values, and the objects that run by their role."""
    if not model.can_generate():
        labels = plain(getattr(model.config, "id2label", None))
        values: dict[str, Json] = {"labels": labels, "problem_type": getattr(model.config, "problem_type", None)}
        return "classification" if "Classification" in type(model).__name__ else "scores", values, {}
    generation = read_generation(model, tokenizer, defaults=defaults, processors=processors)
    cleaned = bool(getattr(tokenizer, "clean_up_tokenization_spaces", False))
    values = {**generation.values, "clean_up_tokenization_spaces": cleaned}
    return "generation", values, {"processors": generation.processors, "criteria": generation.criteria}


def _described(sources: Sequence[Source]) -> list[Json]:
    return [{"name": source.name, "values": source.values} for source in sources]


def _model_flags(model: Any) -> dict[str, Json]:
    config = model.config
    return {
        "attention": plain(getattr(config, "_attn_implementation", None)),
        "experts": plain(getattr(config, "_experts_implementation", None)),
        "kernels": bool(getattr(model, "use_kernels", False)),
        "compiled": getattr(model, "_compiled_call_impl", None) is not None or hasattr(model, "_orig_mod"),
        "adapters": plain(model.active_adapters()) if getattr(model, "peft_config", None) else [],
        # Dropout is on in training mode, and every answer is another one.
        "training": model.training,
        "dtype": str(model.dtype).removeprefix("torch."),
    }


def _layout(model: Any) -> dict[str, Json]:
    """How the model is split. One process with transformers has one copy of the data and of the experts."""
    devices = getattr(model, "hf_device_map", None) or {"": model.device.type}
    return {
        "tensor": getattr(model, "_tp_size", None) or 1,
        "pipeline": len({str(device) for device in devices.values()}),
        "data": 1,
        "expert": 1,
        "offloaded": sorted({str(device) for device in devices.values()} & {"disk", "meta"}),
    }
