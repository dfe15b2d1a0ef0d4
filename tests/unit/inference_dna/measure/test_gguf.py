from __future__ import annotations

import io
import random
import struct
from contextlib import suppress
from typing import Any

import pytest

from inference_dna.canonical import Refused
from inference_dna.measure.ggml import BLOCKS
from inference_dna.measure.gguf import GgufFile, inspect_gguf
from inference_dna.measure.inside import Part
from tests.support.smollm2 import gguf_file
from tests.support.weights import gguf

KEY = (("general.architecture", "llama"),)


def inspected(content: bytes) -> GgufFile:
    return inspect_gguf(io.BytesIO(content), "m.gguf", len(content))


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("order", ["<", ">"])
def test_a_file_that_parses(version: int, order: str) -> None:
    metadata = (*KEY, ("a.bool", True), ("a.float", 0.5), ("tokens", ["<s>", "x"]), ("pairs", [[1, 2], [3]]))
    found = inspected(gguf(metadata, version=version, order=order))

    assert (found.version, found.names) == (version, ("a", "b"))
    assert found.tensors == {"a", "b"}
    assert found.metadata == {"general.architecture": "llama", "a.bool": True, "a.float": 0.5}
    assert found.lists == {"tokens": 2, "pairs": 2}


def test_a_file_without_tensors_is_a_vocabulary() -> None:
    assert inspected(gguf(tensors={})).names == ()


def test_a_type_that_nobody_knows_yet_is_bounded_by_what_follows_it() -> None:
    assert inspected(gguf(kind=250)).names == ("a", "b")


@pytest.mark.models
def test_the_file_of_a_real_model() -> None:
    path = gguf_file()
    with path.open("rb") as stream:
        found = inspect_gguf(stream, path.name, path.stat().st_size)

    assert found.metadata["general.architecture"] == "llama"
    assert found.lists["tokenizer.ggml.tokens"] == 49152
    assert {"token_embd.weight", "blk.0.attn_q.weight"} <= found.tensors


GOOD = gguf()


@pytest.mark.parametrize(
    ("content", "why"),
    [
        pytest.param(b"", "does not begin with GGUF", id="empty"),
        pytest.param(b"PK\x03\x04" + bytes(60), "does not begin with GGUF", id="an-archive"),
        pytest.param(b"\x80\x04\x95" + bytes(60), "does not begin with GGUF", id="a-pickle"),
        pytest.param(b"GGUF\x03", "truncated", id="nothing-but-the-magic"),
        pytest.param(gguf(version=1), "version 1", id="version-before"),
        pytest.param(gguf(version=4), "version 4", id="version-after"),
        pytest.param(b"GGUF" + struct.pack("<IQQ", 3, 2**60, 0), "more than it can hold", id="tensors-without-end"),
        pytest.param(b"GGUF" + struct.pack("<IQQ", 3, 0, 2**60), "more than it can hold", id="entries-without-end"),
        pytest.param(GOOD[:60], "more than it can hold|truncated", id="cut-in-the-metadata"),
        pytest.param(GOOD[:-64], "truncated", id="cut-in-the-tensors"),
        pytest.param(GOOD + bytes(32), "something was appended", id="appended"),
        pytest.param(gguf((*KEY, *KEY)), "'general.architecture' twice", id="key-twice"),
        pytest.param(gguf((("general.alignment", 3),)), "no power of two", id="alignment"),
        pytest.param(gguf((("general.alignment", 0),)), "no power of two", id="alignment-of-nothing"),
        pytest.param(gguf((("general.alignment", "x"),)), "no power of two", id="alignment-is-a-text"),
        pytest.param(gguf((("x", [[[[[1]]]]]),)), "nests too deep", id="lists-in-lists"),
        pytest.param(GOOD.replace(struct.pack("<IQ", 8, 5) + b"llama", struct.pack("<IQ", 8, 2**40) + b"llama"),
                     "claims 1099511627776 bytes", id="text-without-end"),
        pytest.param(GOOD.replace(b"llama", b"\xff\xffama"), "not UTF-8", id="text-is-none"),
        pytest.param(GOOD.replace(struct.pack("<I", 8) + b"\x05", struct.pack("<I", 99) + b"\x05"),
                     "type 99", id="a-type"),
        pytest.param(gguf((("x", [1, 2]),)).replace(struct.pack("<IQ", 4, 2), struct.pack("<IQ", 4, 2**50)),
                     "truncated", id="list-without-end"),
        pytest.param(gguf((("x", ["a", "b"]),)).replace(struct.pack("<IQ", 8, 2), struct.pack("<IQ", 8, 2**40)),
                     "more than 2000000 items", id="texts-without-end"),
        pytest.param(gguf((("x", [1, 2]),)).replace(struct.pack("<IQ", 4, 2), struct.pack("<IQ", 77, 2)),
                     "of type 77", id="list-of-an-unknown-type"),
        pytest.param(gguf(tensors={"a": b"x", "b": b"y"}).replace(b"\x01\0\0\0\0\0\0\0b", b"\x01\0\0\0\0\0\0\0a"),
                     "'a' twice", id="tensor-twice"),
        pytest.param(gguf(tensors={"a": bytes(33)}, kind=2), "blocks of 32 do not fill|do not fill", id="half-a-block"),
        pytest.param(GOOD.replace(struct.pack("<IQ", 1, 3), struct.pack("<IQ", 77, 3)),
                     "77 dimensions", id="dimensions"),
        pytest.param(GOOD.replace(struct.pack("<IQIQ", 1, 40, 24, 32), struct.pack("<IQIQ", 1, 40, 24, 64)),
                     "hole or overlap before 'b'", id="hole"),
        pytest.param(GOOD.replace(struct.pack("<IQIQ", 1, 40, 24, 32), struct.pack("<IQIQ", 1, 40, 24, 0)),
                     "hole or overlap before 'b'", id="overlap"),
    ],
)  # fmt: skip
def test_a_file_that_does_not_parse_is_refused(content: bytes, why: str) -> None:
    with pytest.raises(Refused, match=why):
        inspected(content)


@pytest.mark.parametrize("seed", range(40))
def test_no_damage_makes_it_fail_in_another_way(seed: int) -> None:
    chance = random.Random(seed)
    content = bytearray(gguf((*KEY, ("tokens", ["a", "b"]), ("n", [1, 2, 3]))))
    for _ in range(3):
        content[chance.randrange(200)] = chance.randrange(256)
    with suppress(Refused):
        inspected(bytes(content))


def part(number: int, count: int = 2, *, total: int = 4, tensors: Any = None) -> Part:
    metadata = (("split.no", number), ("split.count", count), ("split.tensors.count", total))
    return Part(1, inspected(gguf(metadata, tensors)))


def judged(*parts: tuple[str, Part]) -> None:
    for name, each in parts:
        assert each.inside is not None
        each.inside.check(name, dict(parts))


FIRST, SECOND = "m-00001-of-00002.gguf", "m-00002-of-00002.gguf"


def test_a_split_that_is_complete() -> None:
    judged((FIRST, part(0)), (SECOND, part(1)))


def test_a_split_of_one_is_none() -> None:
    judged(("m.gguf", part(0, 1, total=2)))


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        pytest.param([(FIRST, part(0))], "parts are missing: 2", id="one-missing"),
        pytest.param([(FIRST, part(0)), (SECOND, Part(1, inspected(gguf())))], "parts are missing: 2", id="not-a-part"),
        pytest.param([(FIRST, part(1)), (SECOND, part(0))], "says it is part 2 of 2; its name does not", id="swapped"),
        pytest.param([("m.gguf", part(0)), (SECOND, part(1))], "its name does not", id="renamed"),
        pytest.param(
            [(FIRST, part(0, total=9)), (SECOND, part(1, total=9))], "hold 4 tensors; it promises 9", id="few"
        ),
    ],
)
def test_a_split_that_is_not(parts: list[tuple[str, Part]], why: str) -> None:
    with pytest.raises(Refused, match=why):
        judged(*parts)


def test_a_part_that_is_none_is_refused() -> None:
    with pytest.raises(Refused, match="no part of a split"):
        part(5, 2)


@pytest.mark.models
def test_the_sizes_of_types_are_those_of_the_project() -> None:
    sizes = pytest.importorskip("gguf").GGML_QUANT_SIZES

    ours = {kind: block for kind, block in BLOCKS.items() if kind in set(map(int, sizes))}
    assert ours == {int(kind): block for kind, block in sizes.items() if int(kind) in ours}
    assert len(ours) > 25
