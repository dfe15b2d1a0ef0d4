from __future__ import annotations

import pickle
import zipfile
from pathlib import Path
from typing import Any

import pytest

from inference_dna.canonical import Refused
from inference_dna.measure.code.script import script_reads

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")

HARMLESS = """\
class Generator(Module):
  __parameters__ = []
  def forward(self: __torch__.Generator,
    scores: Tensor) -> Tensor:
    code = torch.div(scores, 0.69999999999999996)
    best, _0, = torch.topk(code, 5)
    return best
"""


class Runs:
    def __init__(self, *called: Any) -> None:
        self.called = called

    def __reduce__(self) -> Any:
        return self.called


def archive(folder: Path, members: dict[str, bytes]) -> Path:
    """An archive as TorchScript writes it, with whatever members."""
    file = folder / "generator.ts"
    with zipfile.ZipFile(file, "w") as written:
        for name, content in members.items():
            written.writestr(zipfile.ZipInfo(f"generator/{name}"), content)
    return file


def with_code(folder: Path, line: str) -> Path:
    return archive(
        folder, {"code/__torch__.py": HARMLESS.replace("    return best", f"    {line}\n    return best").encode()}
    )


def test_code_that_stays_inside(tmp_path: Path) -> None:
    file = archive(tmp_path, {"code/__torch__.py": HARMLESS.encode(), "data.pkl": pickle.dumps({"a": 1}, 2)})

    assert script_reads(file) == ()


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('t = os.environ["TEMPERATURE"]', "reads the environment variable TEMPERATURE"),
        ('t = os.getenv("TEMPERATURE")', "reads the environment variable TEMPERATURE"),
        ('t = torch.from_file("/etc/temperature", False, 1)', "reads a file"),
        ('t = open("/etc/temperature")', "reads a file"),
        ('t = consul.Consul().kv.get("t")', "reads a configuration store"),
        ("t = ops.own.temperature()", "calls an operator that this check cannot see into: own.temperature"),
    ],
)
def test_a_read_in_the_code_is_found(tmp_path: Path, line: str, told: str) -> None:
    found = [str(read) for read in script_reads(with_code(tmp_path, line))]

    assert found == [f"code/__torch__.py:7: {told}"]


def test_operators_of_pytorch_itself_are_known(tmp_path: Path) -> None:
    assert script_reads(with_code(tmp_path, "ops.prim.RaiseException(best)")) == ()


def test_python_beside_the_code_is_looked_through(tmp_path: Path) -> None:
    handler = b"import os\n\ndef handle(text):\n    return text[: int(os.environ['LIMIT'])]\n"
    file = archive(tmp_path, {"code/__torch__.py": HARMLESS.encode(), "extra/handler.py": handler})

    assert [str(read) for read in script_reads(file)] == ["extra/handler.py:4: reads the environment variable LIMIT"]


@pytest.mark.parametrize("protocol", [0, 2, 4, 5])
@pytest.mark.parametrize(
    "called",
    [
        pytest.param((__import__("os").getenv, ("TEMPERATURE",)), id="getenv"),
        pytest.param((__import__("os").system, ("env",)), id="system"),
        pytest.param((eval, ("1",)), id="eval"),
        pytest.param((__import__("subprocess").run, (["env"],)), id="subprocess"),
    ],
)
def test_a_pickle_that_reaches_outside_is_found_and_not_run(tmp_path: Path, called: Any, protocol: int) -> None:
    content = pickle.dumps(Runs(*called), protocol)
    file = archive(tmp_path, {"code/__torch__.py": HARMLESS.encode(), "data.pkl": content})

    assert {read.file for read in script_reads(file)} == {"data.pkl"}


def test_a_pickle_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    file = archive(tmp_path, {"code/__torch__.py": HARMLESS.encode(), "data.pkl": b"\xff\xff"})

    assert [str(read) for read in script_reads(file)] == ["data.pkl:0: is a pickle that this check cannot read"]


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        pytest.param({"data.pkl": b""}, "no code", id="no-code"),
        pytest.param({"code/a.py": b"def f(:"}, "nothing can be said", id="no-python"),
    ],
)
def test_an_archive_of_which_nothing_can_be_said_is_refused(
    tmp_path: Path, members: dict[str, bytes], reason: str
) -> None:
    with pytest.raises(Refused, match=reason):
        script_reads(archive(tmp_path, members))


def test_what_is_no_archive_is_refused(tmp_path: Path) -> None:
    (tmp_path / "generator.ts").write_bytes(b"import os")

    with pytest.raises(Refused, match="archive"):
        script_reads(tmp_path / "generator.ts")


@pytest.mark.models
def test_an_archive_that_pytorch_wrote_is_read(tmp_path: Path) -> None:
    import torch

    class Scale(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.temperature = 0.7
            self.banned: Any = torch.jit.Attribute({"error": 5}, dict[str, int])

        def forward(self, scores: torch.Tensor, names: list[str]) -> tuple[torch.Tensor, dict[str, int]]:
            best = torch.topk(scores / self.temperature, 3)
            if len(names) > 1 and names[0] in self.banned:
                raise ValueError("banned")
            return best.values, self.banned

    torch.jit.save(torch.jit.script(Scale()), str(tmp_path / "scale.ts"))

    assert script_reads(tmp_path / "scale.ts") == ()
