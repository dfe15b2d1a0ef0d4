from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from inference_dna.canonical import Refused
from inference_dna.measure.code.check import code_reads

READS = "import os\n\ndef scale(scores):\n    return scores / float(os.environ['TEMPERATURE'])\n"
BOUND = "def scale(scores):\n    return scores / 0.7\n"


def test_a_file(tmp_path: Path) -> None:
    (tmp_path / "post.py").write_text(READS, encoding="utf-8")
    (tmp_path / "bound.py").write_text(BOUND, encoding="utf-8")

    assert [str(read) for read in code_reads(tmp_path / "post.py")] == [
        "post.py:4: reads the environment variable TEMPERATURE"
    ]
    assert code_reads(tmp_path / "bound.py") == ()


def test_a_folder(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "post.py").write_text(READS, encoding="utf-8")
    (tmp_path / "bound.py").write_text(BOUND, encoding="utf-8")
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "post.py").write_text("no python at all (", encoding="utf-8")
    (tmp_path / "notes.txt").write_text(READS, encoding="utf-8")

    assert [read.file for read in code_reads(tmp_path)] == ["inner/post.py"]


def test_an_archive(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "generator.ts", "w") as archive:
        archive.writestr("generator/code/__torch__.py", 'def f() -> str:\n  return os.environ["TEMPERATURE"]\n')

    assert [read.variable for read in code_reads(tmp_path / "generator.ts")] == ["TEMPERATURE"]


@pytest.mark.parametrize(
    ("name", "reason"),
    [("missing.py", "No such file"), ("model.safetensors", "no code to look through"), (".", "holds no Python files")],
)
def test_what_holds_no_code_is_refused(tmp_path: Path, name: str, reason: str) -> None:
    with pytest.raises(Refused, match=reason):
        code_reads(tmp_path / name)


def test_a_file_that_cannot_be_read_as_python_is_refused(tmp_path: Path) -> None:
    (tmp_path / "post.py").write_text("def f(:", encoding="utf-8")

    with pytest.raises(Refused, match="nothing can be said of it"):
        code_reads(tmp_path / "post.py")
