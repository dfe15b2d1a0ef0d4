from __future__ import annotations

from hashlib import sha256

import pytest

from inference_dna.measure.environment import (
    settings_environment,
    shapes_computation,
    shaping_environment,
    value_digests,
)


@pytest.mark.parametrize(
    ("name", "taken"),
    [
        ("VLLM_ATTENTION_BACKEND", True),
        ("SGLANG_ENABLE_TORCH_COMPILE", True),
        ("CUBLAS_WORKSPACE_CONFIG", True),
        ("OMP_NUM_THREADS", True),
        ("ONNXRUNTIME_ANYTHING", True),
        ("MKL_CBWR", True),
        ("NVIDIA_TF32_OVERRIDE", True),
        ("VLLM_MAX_TOKENS_PER_BATCH", True),
        ("SGLANG_MAX_TOKENS", True),
        ("PATH", False),
        ("HOME", False),
        ("OMP_NUM_THREADS_X", False),
        ("vllm_attention_backend", False),
        ("VLLM_API_KEY", False),
        ("TORCH_HUB_TOKEN", False),
        ("NCCL_SECRET", False),
        ("TRITON_PASSWORD", False),
        ("SGLANG_CREDENTIALS", False),
        ("VLLM_HOST_IP", False),
        ("VLLM_PORT", False),
        ("NCCL_SOCKET_IFNAME", False),
        ("NCCL_IB_HCA", False),
        ("TRITON_CACHE_DIR", False),
        ("VLLM_CONFIG_ROOT", False),
        ("CUDNN_LIBRARY_PATH", False),
        ("VLLM_LOGGING_LEVEL", False),
        ("NCCL_DEBUG_SUBSYS", False),
    ],
)
def test_rule_env_1(name: str, taken: bool) -> None:
    assert shapes_computation(name) is taken


def test_an_empty_value_is_not_an_absent_one() -> None:
    environ = {"PATH": "/bin", "VLLM_USE_V1": "", "MKL_CBWR": "AVX2"}

    assert list(shaping_environment(environ).items()) == [("MKL_CBWR", "AVX2"), ("VLLM_USE_V1", "")]


def test_what_looks_like_a_setting_is_listed_with_the_digest_of_its_value() -> None:
    environ = {
        "TEMPERATURE": "0.95",
        "generator_top_p": "1",
        "HF_HUB_OFFLINE": "1",
        "HF_TOKEN": "hf_secret",
        "SAMPLING_API_KEY": "secret",
        "PATH": "/bin",
    }

    listed = settings_environment(environ)

    assert list(listed) == ["HF_HUB_OFFLINE", "TEMPERATURE", "generator_top_p"]
    assert listed["TEMPERATURE"] == f"sha256:{sha256(b'0.95').hexdigest()}"
    assert "0.95" not in str(listed)


def test_unset_empty_and_unreadable_values_are_three_things() -> None:
    digests = value_digests(["A", "B", "C"], {"B": "", "C": "\udc80"})

    assert digests["A"] is None
    assert digests["B"] == f"sha256:{sha256(b'').hexdigest()}"
    assert digests["C"] == f"sha256:{sha256(bytes([0x80])).hexdigest()}"
