"""Sets how PyTorch computes in this process: once, before anything is loaded, and never again."""

from __future__ import annotations

import os

from inference_dna.extra import needing

_CUBLAS = "CUBLAS_WORKSPACE_CONFIG"


def settle(*, deterministic: bool) -> None:
    """Settle it.

    On a processor one thread computes one request; requests are what runs in parallel. Sums are then made in one order
    on every machine, and threads of several requests do not wait for each other (20 times as long on a busy machine).

    Args:
        deterministic: Use algorithms that give the same sums each time, or fail where there is none.

    Raises:
        Refused: PyTorch is not installed here.
    """
    if deterministic:
        # cuBLAS reads it when the first device is used, and rounds by chance without it.
        os.environ.setdefault(_CUBLAS, ":4096:8")
    with needing("torch", "models"):
        import torch
    torch.set_num_threads(1)
    if deterministic:
        torch.use_deterministic_algorithms(True)
        torch.backends.cudnn.benchmark = False
