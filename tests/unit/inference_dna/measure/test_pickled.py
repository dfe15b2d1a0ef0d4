from __future__ import annotations

import io
import os
import pickle

import pytest

from inference_dna.measure.pickled import TORCH_LEGACY, is_pickle


class Runs:
    """What a harmful pickle is: something that, read back, runs a command."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, ("exit 1",)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_that_would_run_something_is_seen_in_every_protocol(protocol: int) -> None:
    assert is_pickle(io.BytesIO(pickle.dumps(Runs(), protocol)))


def test_a_pickle_of_plain_data_says_so_from_protocol_2_on() -> None:
    assert is_pickle(io.BytesIO(pickle.dumps({"a": [1.5] * 1000}, 2)))


def test_the_older_form_of_pytorch_is_a_pickle_too() -> None:
    assert is_pickle(io.BytesIO(TORCH_LEGACY + b"rest"))


def test_what_is_longer_than_the_part_that_is_looked_at_may_be_one() -> None:
    assert is_pickle(io.BytesIO(pickle.dumps(bytes(1_000_000), 4)))


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(bytes(1000), id="zeros"),
        pytest.param(b"\x80", id="one-byte"),
        pytest.param(b"\x80\x99rest", id="no-known-protocol"),
        pytest.param(b"<?xml version='1.0'?>", id="text"),
        pytest.param(b"(" * 100_000, id="opcodes-without-end"),
        pytest.param(b"I" + b"9" * 100_000, id="a-number-without-end"),
        pytest.param(b"\x8b\xff\xff\xff\x7f", id="a-length-beyond-the-end"),
        pytest.param(pickle.dumps([1, 2], 0), id="old-and-importing-nothing"),
        pytest.param(b"can this be prose?\nYes, it is.\n.", id="prose"),
        pytest.param(b"\x80\x02" + bytes(range(200, 256)) * 9, id="numbers-that-begin-like-one"),
    ],
)
def test_what_is_none(content: bytes) -> None:
    assert not is_pickle(io.BytesIO(content))
