from __future__ import annotations

import io
import os
import pickle
import zipfile
from pathlib import Path
from typing import Any

import pytest

from inference_dna.canonical import Refused
from inference_dna.measure.pickled import TORCH_LEGACY
from inference_dna.measure.torch_file import TorchFile, inspect_torch
from tests.support.weights import archive

SAVED = {"m/data.pkl": b"\x80\x02}q\x00.", "m/version": b"3\n", "m/data/0": bytes(400)}
SCRIPTED = SAVED | {"m/constants.pkl": b"\x80\x02).", "m/code/__torch__.py": b"def forward(x):\n  return x\n"}


def inspected(path: Path) -> TorchFile | None:
    with path.open("rb") as stream:
        return inspect_torch(stream, path.name, path.stat().st_size)


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("name", "members", "form"),
    [
        pytest.param("pytorch_model.bin", SAVED, "pytorch", id="bin"),
        pytest.param("consolidated.00.pth", SAVED, "pytorch", id="pth"),
        pytest.param("model.pt", SCRIPTED, "torchscript", id="scripted-pt"),
        pytest.param("generator.ts", SCRIPTED, "torchscript", id="scripted-ts"),
        pytest.param("model.pt2", {"m/archive_format": b"pt2", "m/models/model.json": b"{}"}, "torch-export", id="pt2"),
    ],
)
def test_the_form_is_read_off_the_archive(tmp_path: Path, name: str, members: dict[str, bytes], form: str) -> None:
    found = inspected(archive(tmp_path / name, members))

    assert found is not None
    assert found.form == form


def test_the_sources_in_an_archive_are_told_whatever_it_was_first_called(tmp_path: Path) -> None:
    renamed = {name.replace("m/", "other/", 1): content for name, content in SCRIPTED.items()}
    first, second = (inspected(archive(tmp_path / f"{n}.ts", each)) for n, each in enumerate((SCRIPTED, renamed)))
    changed = SCRIPTED | {"m/code/__torch__.py": b"def forward(x):\n  return x + 1\n"}
    other = inspected(archive(tmp_path / "3.ts", changed, compression=zipfile.ZIP_DEFLATED))

    assert first is not None
    assert second is not None
    assert other is not None
    assert [entry.name for entry in first.code] == ["code/__torch__.py"]
    assert first.code == second.code
    assert first.code != other.code


@pytest.mark.models
def test_what_pytorch_itself_writes(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    layer = torch.nn.Linear(3, 2)
    torch.save(layer.state_dict(), tmp_path / "new.pt")
    torch.save(layer.state_dict(), tmp_path / "old.pt", _use_new_zipfile_serialization=False)
    with pytest.warns(DeprecationWarning, match="torch.jit"):
        torch.jit.save(torch.jit.script(layer), tmp_path / "script.ts")
    program = torch.export.export(layer, (torch.ones(1, 3),))
    torch.export.save(program, tmp_path / "exported.pt2")

    forms = {path.stem: (found := inspected(path)) and found.form for path in tmp_path.iterdir()}
    script = inspected(tmp_path / "script.ts")

    assert forms == {"new": "pytorch", "old": "pytorch", "script": "torchscript", "exported": "torch-export"}
    assert script is not None
    assert any(entry.name.startswith("code/__torch__") for entry in script.code)


class Marks:
    """A harmful pickle: read back, it makes a folder."""

    def __init__(self, mark: Path) -> None:
        self._mark = str(mark)

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.mkdir, (self._mark,)


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "model.pth", "model.ckpt", "model.ts"])
@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_a_bare_pickle_in_place_of_weights_is_refused_and_not_run(tmp_path: Path, name: str, protocol: int) -> None:
    path = written(tmp_path / name, pickle.dumps(Marks(tmp_path / "ran"), protocol))

    with pytest.raises(Refused, match=f"'{name}' is a bare pickle"):
        inspected(path)
    assert not (tmp_path / "ran").exists()


def test_the_pickle_inside_an_archive_is_not_run(tmp_path: Path) -> None:
    harmful = SAVED | {"m/data.pkl": pickle.dumps(Marks(tmp_path / "ran"))}

    assert inspected(archive(tmp_path / "model.pt", harmful)) == TorchFile("pytorch")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("name", "members", "why"),
    [
        pytest.param("a.pt", {"m/version": b"3"}, "holds no data.pkl", id="another-tools-archive"),
        pytest.param("a.pt", SAVED | {"n/x": b""}, "do not lie in one folder", id="two-folders"),
        pytest.param("a.pt", {}, "no file of PyTorch", id="empty"),
        pytest.param("a.ts", SAVED, "is no TorchScript", id="no-script"),
    ],
)
def test_an_archive_that_pytorch_did_not_write(tmp_path: Path, name: str, members: dict[str, bytes], why: str) -> None:
    with pytest.raises(Refused, match=why):
        inspected(archive(tmp_path / name, members))


def test_a_zip_bomb_is_refused_by_its_directory(tmp_path: Path) -> None:
    """300 MB of zeros in 300 kB; nothing of it is unpacked."""
    with zipfile.ZipFile(tmp_path / "a.bin", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        for number in range(3):
            with file.open(f"m/data/{number}", "w") as member:
                for _ in range(100):
                    member.write(bytes(1_000_000))

    with pytest.raises(Refused, match="a ZIP bomb"):
        inspected(tmp_path / "a.bin")


@pytest.mark.parametrize("name", ["model.pt", "model.ts", "model.pt2"])
def test_what_is_neither_archive_nor_pickle_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(Refused, match="no file of PyTorch"):
        inspected(written(tmp_path / name, b"weights"))


def test_another_tools_weights_are_left_to_their_hash(tmp_path: Path) -> None:
    assert inspected(written(tmp_path / "openvino_model.bin", bytes(100))) is None


@pytest.mark.parametrize("name", ["pytorch_model.bin", "pytorch_model-00001-of-00001.bin", "sub/adapter_model.bin"])
@pytest.mark.parametrize("content", [b"", bytes(100)])
def test_under_pytorchs_own_names_other_weights_are_refused(tmp_path: Path, name: str, content: bytes) -> None:
    with pytest.raises(Refused, match="no file of PyTorch"):
        inspect_torch(io.BytesIO(content), name, len(content))


def test_the_older_form_is_known_by_its_magic(tmp_path: Path) -> None:
    content = TORCH_LEGACY + pickle.dumps(1001, 2)
    path = written(tmp_path / "pytorch_model.bin", content)

    assert inspected(path) == TorchFile("pytorch")
    assert inspect_torch(io.BytesIO(content), "a.pt", len(content)) == TorchFile("pytorch")
