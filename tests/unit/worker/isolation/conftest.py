"""A tiny language model, and a process that is put back as it was."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator

import pytest

from tests.support.tiny_bundle import language_model
from worker.backends.causal_lm import CausalLM, load_causal_lm
from worker.backends.torch_process import settle
from worker.sealed import Sealed


@pytest.fixture(scope="package")
def sound(tmp_path_factory: pytest.TempPathFactory) -> CausalLM:
    settle(deterministic=False)
    folder = language_model(tmp_path_factory.mktemp("isolation") / "letters")
    return load_causal_lm(folder, "LlamaForCausalLM", Sealed())


@pytest.fixture
def put_back() -> Iterator[None]:
    """Whatever a fault did to the process is undone."""
    import numpy as np
    import torch

    chance = random.getstate(), np.random.get_state(), torch.get_rng_state()
    dtype, threads, environ = torch.get_default_dtype(), torch.get_num_threads(), dict(os.environ)
    yield
    random.setstate(chance[0])
    np.random.set_state(chance[1])
    torch.set_rng_state(chance[2])
    torch.set_default_dtype(dtype)
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(False)
    torch.set_grad_enabled(True)
    os.environ.clear()
    os.environ.update(environ)
