from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from bench.hashing.contender import contenders
from tests.support.weights import safetensors

NAMES = [each.name for each in contenders()]


@pytest.mark.parametrize("name", NAMES)
def test_every_tool_names_the_digest_of_every_file(tmp_path: Path, name: str) -> None:
    tool = next(each for each in contenders() if each.name == name)
    if tool.program() is None:
        pytest.skip(f"{name} is not here; {tool.hint}")
    (tmp_path / "model.safetensors").write_bytes(safetensors({"w": bytes(5_000_000)}))
    (tmp_path / "config with spaces.json").write_bytes(b"{}")

    done = tool.run(tmp_path)

    assert done.digests == {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in tmp_path.iterdir()}
    assert done.seconds > 0
    assert tool.version()
