from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from inference_dna.binding.pack import pack_generator
from inference_dna.binding.settings import BoundSettings
from inference_dna.canonical import Refused
from inference_dna.files import FileEntry
from inference_dna.genome import genome
from inference_dna.measure.script_model import measure

pytestmark = [pytest.mark.models, pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")]

FILES = [FileEntry("tokenizer.json", 2, sha256(b"{}").hexdigest())]


def encode(text: str) -> list[int]:
    return [ord(letter) % 10 for letter in text]


def packed(folder: Path, settings: BoundSettings) -> tuple[Any, Path]:
    """A packed generator, loaded as a worker loads it."""
    import torch

    folder.mkdir()
    from_pretrained: Any = torch.nn.Embedding.from_pretrained
    table = from_pretrained(torch.roll(torch.eye(10), 1, dims=1))
    entry = pack_generator(table, settings, version="v1.0.0", target=folder)
    load_script: Any = torch.jit.load
    return load_script(str(folder / entry.name)), folder / entry.name


def test_the_genome_is_complete(tmp_path: Path) -> None:
    module, archive = packed(tmp_path / "a", BoundSettings(4, (9,)))

    read = genome(measure(module, encode, archive=archive, tokenizer_files=FILES, environ={}))

    sections: dict[str, Any] = dict(read.sections)
    assert sections["weights"]["kind"] == "file"
    assert sections["weights"]["load"] == {"dtype": "float32", "quantization": None}
    assert sections["postprocess"]["kind"] == "embedded"
    assert sections["postprocess"]["reads"] == []
    assert sections["tokenizer"]["files"] == [FILES[0].document()]
    assert sections["framework"]["engine"]["name"] == "torch"


def test_another_setting_inside_is_other_weights(tmp_path: Path) -> None:
    digests = []
    for name, settings in {"a": BoundSettings(4, (9,)), "b": BoundSettings(4, (8,))}.items():
        module, archive = packed(tmp_path / name, settings)
        digests.append(genome(measure(module, None, archive=archive, environ={})).digests)

    assert digests[0].weights != digests[1].weights
    assert (digests[0].tokenizer, digests[0].framework) == (digests[1].tokenizer, digests[1].framework)


def test_a_file_that_is_no_script_is_refused(tmp_path: Path) -> None:
    import torch

    torch.save({"weight": torch.ones(1)}, tmp_path / "model.pt")

    with pytest.raises(Refused, match="is no TorchScript; its form is pytorch"):
        measure(torch.nn.Identity(), None, archive=tmp_path / "model.pt")


def test_a_module_on_two_kinds_of_devices_is_refused(tmp_path: Path) -> None:
    import torch

    _, archive = packed(tmp_path / "a", BoundSettings(4, (9,)))
    parted = torch.nn.ModuleList([torch.nn.Linear(1, 1), torch.nn.Linear(1, 1, device="meta")])

    with pytest.raises(Refused, match="several kinds: cpu, meta"):
        measure(parted, None, archive=archive, environ={})
