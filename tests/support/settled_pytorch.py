"""Puts back how PyTorch computes in this process, which a worker settles once and for all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest


@dataclass(frozen=True)
class Computing:
    """How PyTorch computes in this process."""

    threads: int
    is_deterministic: bool


@pytest.fixture(scope="session", autouse=True)
def computing() -> Computing:
    """As the process began: read before a fixture of any narrower scope can load a worker."""
    import torch

    return Computing(torch.get_num_threads(), torch.are_deterministic_algorithms_enabled())


@pytest.fixture(scope="module", autouse=True)
def pytorch_as_before(computing: Computing) -> Iterator[None]:
    """Other tests follow in the same process."""
    import torch

    yield
    torch.set_num_threads(computing.threads)
    torch.use_deterministic_algorithms(computing.is_deterministic)
