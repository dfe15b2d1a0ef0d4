"""Environment variables: rule `env/1` of those that shape computation, and those that look like settings of answers.

Sources: provenance.md sections 4 and 5. Secrets are never read, and values outside `env/1` are shown as digests only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from hashlib import sha256

from inference_dna.canonical import Json
from inference_dna.digest import ALGORITHM

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
_LOOKS_LIKE_A_SETTING = (
    "HF_*", "TOKENIZERS_*", "TRANSFORMERS_*", "*TEMPERATURE*", "*TOP_P*", "*TOP_K*", "*MIN_P*", "*MAX_TOKENS*",
    "*MAX_NEW_TOKENS*", "*MAX_LENGTH*", "*PENALTY*", "*SAMPL*", "*NUM_BEAMS*", "*STOP_*", "*_STOP*", "*SEED*",
    "*EOS*", "*BAD_WORDS*", "*LOGIT*", "*SYSTEM_PROMPT*", "*CHAT_TEMPLATE*", "*RESPONSE_FILTER*", "*POSTPROCESS*",
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


def settings_environment(environ: Mapping[str, str]) -> dict[str, Json]:
    """List variables whose names look like settings of answers, each with the digest of its value, for people to see.

    Whether one of them changes anything is decided by the code: what reads it by name is found and enters the digest.
    """
    names = [name for name in sorted(environ) if _matches(name.upper(), _LOOKS_LIKE_A_SETTING)]
    return value_digests([name for name in names if not name.upper().endswith(_SECRET_ENDS)], environ)


def value_digests(names: Iterable[str], environ: Mapping[str, str]) -> dict[str, Json]:
    """Digest the values of some variables; one that is not set is null, which is not the same as an empty one."""
    return {name: ALGORITHM + _hash(environ[name]) if name in environ else None for name in names}


def _hash(value: str) -> str:
    # A value that is not UTF-8 came to Python with surrogates in place of its bytes.
    return sha256(value.encode("utf-8", "surrogateescape")).hexdigest()


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
