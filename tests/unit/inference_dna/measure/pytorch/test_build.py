from __future__ import annotations

import re
from types import SimpleNamespace

import pytest

from inference_dna.measure.pytorch.build import built_libraries, commit, instruction_set

pytestmark = pytest.mark.models

TOLD = """\
PyTorch built with:
  - C++ Version: 201703
  - Intel(R) oneAPI Math Kernel Library Version 2024.2-Product Build 20240605 for Intel(R) 64 architecture applications
  - Intel(R) MKL-DNN v3.12.0 (Git Hash 80afa71049cd69a3df32adcccb623b12cd7baa22)
  - OpenMP 201511 (a.k.a. OpenMP 4.5)
"""


@pytest.mark.parametrize(
    ("told", "libraries"),
    [
        (TOLD, {"mkl": "2024.2", "onednn": "3.12.0", "openmp": "201511"}),
        ("PyTorch built with:\n  - oneDNN v3.5\n", {"onednn": "3.5"}),
        ("", {}),
    ],
)
def test_libraries_inside_the_build_are_told(told: str, libraries: dict[str, str]) -> None:
    def built(hip: str | None) -> dict[str, str]:
        config = SimpleNamespace(show=lambda: told)
        return built_libraries(SimpleNamespace(__config__=config, version=SimpleNamespace(hip=hip)))

    assert built(None) == libraries
    assert built("6.2.41133") == {**libraries, "rocm": "6.2.41133"}


def test_this_build_tells_its_own() -> None:
    import torch

    assert built_libraries(torch).keys() >= {"openmp"}
    assert instruction_set(torch) in torch.__config__.show()
    assert re.fullmatch(r"[0-9a-f]{40}", commit(torch) or "")
    assert commit(SimpleNamespace(version=SimpleNamespace())) is None
