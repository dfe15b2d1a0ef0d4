from __future__ import annotations

import pytest

from inference_dna.canonical import Refused
from inference_dna.measure.shards import Shard, check_shard_sets, shard_of


@pytest.mark.parametrize(
    ("name", "shard"),
    [
        ("model-00002-of-00005.safetensors", Shard("model-", 2, 5, 5, ".safetensors")),
        ("sub/m.Q4_K-00001-of-00001.gguf", Shard("sub/m.Q4_K-", 1, 1, 5, ".gguf")),
        ("model.safetensors", None),
        ("model.safetensors.index.json", None),
        ("ckpt.data-00000-of-00001", None),
        ("model-00000-of-00002.bin", None),
        ("model-00003-of-00002.bin", None),
        ("model-00001-of-999999.bin", None),
    ],
)
def test_a_name_says_which_shard_it_is(name: str, shard: Shard | None) -> None:
    assert shard_of(name) == shard


def test_siblings_are_named_alike() -> None:
    shard = shard_of("a/model-00002-of-00003.bin")

    assert shard is not None
    assert shard.siblings() == tuple(f"a/model-0000{number}-of-00003.bin" for number in (1, 2, 3))


def test_complete_sets_and_other_files_pass() -> None:
    check_shard_sets(["m-00001-of-00002.bin", "m-00002-of-00002.bin", "m-00001-of-00001.gguf", "config.json"])


def test_a_missing_shard_is_named() -> None:
    names = [f"m-{number:05d}-of-00009.bin" for number in (1, 3)]

    with pytest.raises(Refused, match=r"9 shards is not complete; missing: 'm-00002-of-00009.bin', .* and 2 more"):
        check_shard_sets(names)
