"""Rule `env/1`: which environment variables shape computation (provenance.md section 5)."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase

RULE = "env/1"

_SHAPES_COMPUTATION = (
    "VLLM_*", "SGLANG_*", "CUBLAS_*", "CUDNN_*", "NCCL_*", "TORCH_*", "PYTORCH_*", "TRITON_*", "FLASHINFER_*",
    "ONNXRUNTIME_*", "OMP_NUM_THREADS", "MKL_*", "OPENBLAS_*", "NVIDIA_TF32_OVERRIDE", "CUDA_LAUNCH_BLOCKING",
    "CUDA_DEVICE_ORDER",
)  # fmt: skip
_SECRET_ENDS = ("KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIALS")
_ADDRESSES_OR_TALKS = (
    "*_HOST*", "*_PORT*", "*_IP", "*_IFNAME", "*_HCA", "*_DIR", "*_ROOT", "*_PATH", "*_LOG*", "*_DEBUG*",
)  # fmt: skip


def shaping_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Keep the variables that shape computation, secrets and addresses left out; an empty value is not an absent one.

    Args:
        environ: The environment of the process that answers.
    """
    return {name: environ[name] for name in sorted(environ) if shapes_computation(name)}


def shapes_computation(name: str) -> bool:
    """Say whether rule `env/1` takes a variable of this name."""
    # `..._TOKEN` is a secret, `..._TOKENS` is a number: only the end counts.
    if name.endswith(_SECRET_ENDS) or _matches(name, _ADDRESSES_OR_TALKS):
        return False
    return _matches(name, _SHAPES_COMPUTATION)


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
