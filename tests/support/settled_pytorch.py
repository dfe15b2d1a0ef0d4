"""Puts back how PyTorch computes in this process, which a worker settles once and for all."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module", autouse=True)
def pytorch_as_before() -> Iterator[None]:
    """Other tests follow in the same process."""
    import torch

    threads, is_deterministic = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    yield
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(is_deterministic)
