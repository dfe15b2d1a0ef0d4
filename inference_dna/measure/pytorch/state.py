"""Reads how PyTorch computes in this process: precision, kernels, threads, determinism (provenance.md section 5).

Every value is read back from the library after all settings, never from the setting. It must be read in the process
that answers, since all of it is global state of one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from inference_dna.canonical import Json, Refused

_NUMERIC_VARIABLES = ("ATEN_CPU_CAPABILITY", "DNNL_", "GOMP_", "KMP_", "ONEDNN_")
"""Beginnings of names that change PyTorch's arithmetic on a processor and are no part of rule `env/1`."""
_BATCH_INVARIANT = (
    ("batch_invariant_ops", "is_batch_invariant_mode_enabled"),
    ("vllm.model_executor.layers.batch_invariant", "vllm_is_batch_invariant"),
)
"""Modules that replace kernels by batch-invariant ones, with the question each answers once it is loaded."""


def precision(torch: Any) -> dict[str, Json]:
    """How float32 is multiplied, per backend: `ieee`, `tf32` or `bf16`.

    Raises:
        Refused: The library cannot say, because old and new settings were mixed.
    """
    cuda, cudnn, onednn = torch.backends.cuda, torch.backends.cudnn, torch.backends.mkldnn
    try:
        if hasattr(torch.backends, "fp32_precision"):
            everywhere = torch.backends
            return {
                "matmul": _in_effect(cuda.matmul, everywhere),
                "cudnn_conv": _in_effect(cudnn.conv, cudnn, everywhere),
                "cudnn_rnn": _in_effect(cudnn.rnn, cudnn, everywhere),
                "onednn_matmul": _in_effect(onednn.matmul, onednn, everywhere),
                "onednn_conv": _in_effect(onednn.conv, onednn, everywhere),
                "onednn_rnn": _in_effect(onednn.rnn, onednn, everywhere),
            }
        by_old_name = {True: "tf32", False: "ieee"}
        return {"matmul": by_old_name[cuda.matmul.allow_tf32], "cudnn_conv": by_old_name[cudnn.allow_tf32]}
    except RuntimeError as error:
        raise Refused(f"PyTorch cannot tell its float32 precision: {error}") from error


def flags(torch: Any, environ: Mapping[str, str]) -> dict[str, Json]:
    """What shapes computation beside the model: precision, kernels that are allowed, autocast, further variables.

    Raises:
        Refused: As `precision`.
    """
    cuda, cudnn = torch.backends.cuda, torch.backends.cudnn
    return {
        "precision": precision(torch),
        "reduced_precision": {
            "fp16_accumulation": bool(getattr(cuda.matmul, "allow_fp16_accumulation", False)),
            "fp16_reduction": _plain(cuda.matmul.allow_fp16_reduced_precision_reduction),
            "bf16_reduction": _plain(cuda.matmul.allow_bf16_reduced_precision_reduction),
        },
        "attention_kernels": {
            "flash": cuda.flash_sdp_enabled(),
            "memory_efficient": cuda.mem_efficient_sdp_enabled(),
            "math": cuda.math_sdp_enabled(),
            "cudnn": cuda.cudnn_sdp_enabled(),
        },
        "cudnn": {"enabled": cudnn.enabled, "benchmark": cudnn.benchmark},
        "onednn": bool(torch.backends.mkldnn.enabled),
        "autocast": {kind: _autocast(torch, kind) for kind in ("cpu", "cuda")},
        "default_dtype": _name(torch.get_default_dtype()),
        "environment": numeric_environment(environ),
    }


def deterministic(torch: Any, modules: Mapping[str, Any]) -> dict[str, Json]:
    """What this process promises about repeated runs.

    Args:
        torch: The module.
        modules: The modules that are loaded, `sys.modules`.
    """
    return {
        "torch": torch.are_deterministic_algorithms_enabled(),
        "warn_only": torch.is_deterministic_algorithms_warn_only_enabled(),
        "cudnn": bool(torch.backends.cudnn.deterministic),
        "onednn": bool(getattr(torch.backends.mkldnn, "deterministic", False)),
        "batch_invariant": batch_invariant(modules),
    }


def threads(torch: Any) -> dict[str, Json]:
    """How many threads split one operation, and how many run side by side: both change the order of sums."""
    return {"intra_op_threads": torch.get_num_threads(), "inter_op_threads": torch.get_num_interop_threads()}


def parameter_dtypes(module: Any) -> str:
    """All dtypes of a module's parameters, since parts may be held in another one than the rest."""
    return "+".join(sorted({_name(parameter.dtype) for parameter in module.parameters()}))


def batch_invariant(modules: Mapping[str, Any]) -> bool:
    """Whether kernels are in use whose result does not depend on what else is in the batch.

    Raises:
        Refused: A module that replaces kernels is loaded and does not say whether it does.
    """
    loaded = [(name, question) for name, question in _BATCH_INVARIANT if name in modules]
    for name, question in loaded:
        if not hasattr(modules[name], question):
            raise Refused(f"The module {name} is loaded and does not say whether its kernels are in use.")
    return any(bool(getattr(modules[name], question)()) for name, question in loaded)


def numeric_environment(environ: Mapping[str, str]) -> dict[str, Json]:
    """The variables that change arithmetic on a processor and that rule `env/1` does not take."""
    return {name: environ[name] for name in sorted(environ) if name.startswith(_NUMERIC_VARIABLES)}


def _in_effect(*places: Any) -> str:
    """The setting nearest to the operation that is one; without any, the library computes as IEEE says."""
    told = (str(place.fp32_precision) for place in places)
    return next((setting for setting in told if setting != "none"), "ieee")


def _autocast(torch: Any, kind: str) -> Json:
    return _name(torch.get_autocast_dtype(kind)) if torch.is_autocast_enabled(kind) else None


def _name(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")


def _plain(value: Any) -> Json:
    """A switch that newer releases made a pair of switches."""
    return list(value) if isinstance(value, tuple) else bool(value)
