"""The packages that take part in inference, wherever they are installed (provenance.md section 5).

The list is of names that are looked for, not of what must be there. What is installed counts, loaded or not: libraries
load each other late, and a genome must not depend on which request came first.
"""

from __future__ import annotations

TRANSFORMERS_PACKAGES = (
    "accelerate", "apex", "autoawq", "bitsandbytes", "causal-conv1d", "compressed-tensors", "deepspeed", "einops",
    "flash-attn", "flash-attn-3", "flashinfer-python", "gguf", "gptqmodel", "hqq", "intel-extension-for-pytorch",
    "jinja2", "kernels", "liger-kernel", "mamba-ssm", "numpy", "optimum", "peft", "protobuf", "pytorch-triton",
    "quanto", "regex", "safetensors", "sentencepiece", "tiktoken", "tokenizers", "torch", "torchao", "transformers",
    "transformer-engine", "triton", "xformers",
)  # fmt: skip
"""PyTorch, transformers, and what both use where it is there."""

SCRIPT_PACKAGES = ("numpy", "safetensors", "sentencepiece", "tokenizers", "torch", "transformers", "triton")
"""What takes part where PyTorch runs a compiled module; transformers only makes token ids there."""
