"""The rule about generators of random numbers that the whole process shares."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from inference_dna.doctor.finding import Rule
from inference_dna.doctor.module import Module

_SEEDING = re.compile(
    r"torch\.(random\.)?(manual_seed|seed|set_rng_state)"
    r"|torch\.(cuda|mps|xpu|npu)\.(manual_seed|manual_seed_all|seed|seed_all|set_rng_state|set_rng_state_all)"
    r"|random\.(seed|setstate)"
    r"|numpy\.random\.(seed|set_state)"
    r"|(transformers|accelerate|diffusers)(\.\w+)*\.(set_seed|enable_full_determinism)"
    r"|(pytorch_lightning|lightning)(\.\w+)*\.seed_everything"
    r"|tensorflow\.random\.set_seed|mlx\.core\.random\.seed"
)
_USUAL_NAMES = {"np": "numpy", "tf": "tensorflow"}
"""What a name most likely is where its import cannot be seen."""


def randomness(module: Module) -> Iterator[tuple[Rule, ast.AST, str]]:
    """Find seeds of shared generators in code that runs with requests: rule, place and what stands there."""
    for scope in module.scopes[1:]:
        if scope.is_setup:
            continue
        for node in scope.nodes:
            path = _full(module.followed(node.func, scope)) if isinstance(node, ast.Call) else ""
            if _SEEDING.fullmatch(path):
                yield Rule.GLOBAL_SEED, node, f"{path}() is called"


def _full(path: str) -> str:
    root, dot, rest = path.partition(".")
    return f"{_USUAL_NAMES.get(root, root)}{dot}{rest}"
