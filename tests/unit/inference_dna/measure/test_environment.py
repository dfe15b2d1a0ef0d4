from __future__ import annotations

import pytest

from inference_dna.measure.environment import shapes_computation, shaping_environment


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
