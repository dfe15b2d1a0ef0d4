"""The real model of these tests, loaded once per test process."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.smollm2 import load, model_folder


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model as a worker holds it. Tests that change it put it back."""

    folder: Path
    model: Any
    tokenizer: Any


@pytest.fixture(scope="session")
def smollm2() -> Loaded:
    folder = model_folder()
    return Loaded(folder, *load(folder))
