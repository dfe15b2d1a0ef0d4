from __future__ import annotations

import enum
import math
import re
from collections import OrderedDict
from hashlib import sha256
from pathlib import PurePosixPath
from types import SimpleNamespace
from typing import Any

import pytest

from inference_dna.canonical import Json, canonical
from inference_dna.measure.code.plain import plain


class Colour(enum.Enum):
    RED = "red"


class Holder:
    def __init__(self, value: Any) -> None:
        self.value = value


LOOP = Holder(None)
LOOP.value = LOOP


@pytest.mark.parametrize(
    ("value", "described"),
    [
        (None, None),
        (True, True),
        (1, 1),
        (0.7, 0.7),
        ("x", "x"),
        (2**70, "1180591620717411303424"),
        (-math.inf, "-inf"),
        (math.nan, "nan"),
        (-0.0, "-0.0"),
        (Colour.RED, "red"),
        ((1, 2), [1, 2]),
        ({3, 1, 2}, [1, 2, 3]),
        ({"b": 1, "a": 2}, {"a": 2, "b": 1}),
        ({(5, 6): -1.5, (1,): 2.0}, [[[1], 2.0], [[5, 6], -1.5]]),
        (OrderedDict(a=1), {"a": 1}),
        (b"x", {"bytes": f"sha256:{sha256(b'x').hexdigest()}"}),
        (PurePosixPath("a/b"), "a/b"),
        (re.compile("a+", re.IGNORECASE), {"pattern": "a+", "flags": 34}),
        (len, {"name": "builtins.len"}),
        (math, {"name": ".math"}),
        (SimpleNamespace(a=1), {"type": "types.SimpleNamespace", "attributes": {"a": 1}}),
        (object(), {"type": "builtins.object"}),
    ],
)
def test_values_have_one_description(value: Any, described: Json) -> None:
    assert plain(value) == described
    canonical(plain(value))


def test_a_long_collection_is_its_length_and_digest() -> None:
    described = plain(list(range(300)))

    assert described == {"count": 300, "sha256": sha256(canonical(list(range(300))).encode()).hexdigest()}
    assert plain(list(range(256))) == list(range(256))
    assert plain({str(n): n for n in range(300)}) != plain({str(n): n + 1 for n in range(300)})


def test_what_holds_itself_comes_to_an_end() -> None:
    assert canonical(plain(LOOP))


@pytest.mark.models
def test_a_tensor_is_its_bytes() -> None:
    import numpy
    import torch

    content = numpy.array([1.0, 2.0], dtype="<f4").tobytes()

    described = {"dtype": "float32", "shape": [2], "sha256": sha256(content).hexdigest()}
    assert plain(torch.tensor([1.0, 2.0])) == described
    assert plain(numpy.array([1.0, 2.0], dtype="f4")) == described
    assert plain(torch.tensor([1.0, 2.0], requires_grad=True)) == described
    assert plain(torch.tensor(3, dtype=torch.bfloat16)) == {
        "dtype": "bfloat16",
        "shape": [],
        "sha256": sha256(b"\x40\x40").hexdigest(),
    }
    assert plain([torch.float16, torch.device("cpu")]) == ["torch.float16", "cpu"]
