"""What a process has once and all its requests share: chance, the environment, how libraries compute."""

from __future__ import annotations

import decimal
import gc
import locale
import logging
import os
import random
import sys
import threading
import warnings
from hashlib import sha256
from typing import Any

from inference_dna.measure.pytorch.state import deterministic, flags
from worker.isolation.text import State

_TEST_RUNNERS = "PYTEST_CURRENT_TEST"
"""Written by pytest at every step of a test; no worker reads it."""
_LOGGERS = ("worker", "inference_dna", "transformers", "torch", "tokenizers")
_DENORMAL = 1e-40


def process_facts() -> dict[str, object]:
    """Give the facts of this moment by name. Libraries that nobody has imported are not imported for it."""
    facts: dict[str, object] = {
        "random's generator": _digest(random.getstate()),
        # Hashes with the salt of this process: they are compared, and tell nobody a secret.
        "os.environ": {name: hash(value) for name, value in os.environ.items() if name != _TEST_RUNNERS},
        "the working folder": os.getcwd(),
        "sys.path": list(sys.path),
        "sys.meta_path": len(sys.meta_path),
        "sys.getrecursionlimit()": sys.getrecursionlimit(),
        "sys.getswitchinterval()": sys.getswitchinterval(),
        "sys.get_int_max_str_digits()": sys.get_int_max_str_digits(),
        "gc.isenabled()": gc.isenabled(),
        "locale": locale.setlocale(locale.LC_ALL),
        "warnings.filters": State(hash(repr(warnings.filters))),
        "decimal.getcontext()": _decimal(decimal.getcontext()),
        "logging": _levels(),
        "the thread": sorted(name for name in vars(threading.current_thread()) if not name.startswith("_")),
    }
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    return {
        **facts,
        **({} if numpy is None else _numpy(numpy)),
        **({} if torch is None else _torch(torch)),
    }


def _decimal(context: decimal.Context) -> dict[str, object]:
    return {"prec": context.prec, "rounding": context.rounding, "Emin": context.Emin, "Emax": context.Emax}


def _levels() -> dict[str, object]:
    """Levels of the loggers that requests write to; those of the server are set while a worker starts."""
    root = logging.getLogger()
    loggers = [(name, root.manager.loggerDict.get(name)) for name in _LOGGERS]
    known = {name: logger.level for name, logger in loggers if isinstance(logger, logging.Logger)}
    return {"disabled up to": root.manager.disable, "root": root.level, **known}


def _numpy(numpy: Any) -> dict[str, object]:
    name, keys, *rest = numpy.random.get_state()
    return {
        "numpy's generator": _digest((name, keys.tobytes(), rest)),
        "numpy.geterr()": numpy.geterr(),
        "numpy.get_printoptions()": repr(numpy.get_printoptions()),
    }


def _torch(torch: Any) -> dict[str, object]:
    hooks = torch.nn.modules.module
    on_cuda = torch.cuda.is_available() and torch.cuda.is_initialized()
    return {
        "torch's generator": _digest(torch.get_rng_state().numpy().tobytes()),
        "torch.cuda's generators": [_digest(s.numpy().tobytes()) for s in torch.cuda.get_rng_state_all()]
        if on_cuda
        else [],
        "torch": flags(torch, {}),
        "torch deterministic": deterministic(torch, sys.modules),
        "torch.get_num_threads()": torch.get_num_threads(),
        "torch.is_grad_enabled()": torch.is_grad_enabled(),
        "torch.is_inference_mode_enabled()": torch.is_inference_mode_enabled(),
        "torch.is_anomaly_enabled()": torch.is_anomaly_enabled(),
        # The processor has this switch, and PyTorch no word to ask for it.
        "torch.set_flush_denormal()": float(torch.tensor(_DENORMAL, device="cpu") * 1) == 0.0,
        "torch.modes that override functions": [
            torch._C._len_torch_dispatch_stack(),
            torch._C._len_torch_function_stack(),
        ],
        "torch.set_printoptions()": repr(vars(torch._tensor_str.PRINT_OPTS)),
        "torch.get_default_device()": str(torch.get_default_device()),
        "torch.get_float32_matmul_precision()": torch.get_float32_matmul_precision(),
        "torch's hooks of all modules": {
            name: list(getattr(hooks, name))
            for name in dir(hooks)
            if name.startswith("_global_") and name.endswith("hooks")
        },
    }


def _digest(value: object) -> State:
    return State(
        sha256(value if isinstance(value, bytes) else repr(value).encode("utf-8", "surrogateescape")).hexdigest()
    )
