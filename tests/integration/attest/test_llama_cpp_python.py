"""A real engine that compiles for minutes: the server of llama-cpp-python with a real model, attested by the command.

It lives in an environment of its own, which `LONG=1 make test` builds, as CI does; where it is not built these tests
are skipped, unless LONG says that they must run.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from inference_dna.files import FileEntry
from inference_dna.measure.folder import measure_model
from tests.support.attested_engine import attested
from tests.support.smollm2 import gguf_file

INTERPRETER = Path(__file__).parents[3] / ".cache" / "llama-cpp-python" / "bin" / "python"

pytestmark = [
    pytest.mark.models,
    pytest.mark.slow,
    pytest.mark.timeout(400),
    pytest.mark.skipif(
        not INTERPRETER.exists() and "LONG" not in os.environ,
        reason="the server of llama-cpp-python is not built here",
    ),
]


def serve(model: Path, port: int) -> Sequence[str]:
    words = ["--model", str(model), "--port", str(port), "--host", "127.0.0.1", "--n_ctx", "512", "--n_threads", "2"]
    words += ["--verbose", "False"]
    return [str(INTERPRETER), "-m", "llama_cpp.server", *words]


def test_the_server_of_llama_cpp_python_is_attested_through_restart_and_update(tmp_path: Path) -> None:
    model = tmp_path / "model.gguf"
    shutil.copyfile(gguf_file(), model)
    with attested("llama-cpp-python", model, serve) as held:
        first = held.until_ok()
        _is_whole(first, model)

        held.end()
        dropped = held.health()
        assert dropped["status"] == "pending"
        assert dropped["boot_id"] != first["boot_id"]

        held.start_again()
        again = held.until_ok()
        assert (again["digest"], again["dna"]) == (first["digest"], first["dna"])

        _change_last_byte(model)
        assert held.health()["status"] == "pending"
        assert held.until(lambda document: "restart the engine" in document.get("reason", ""))["status"] == "pending"

        held.end()
        held.start_again()
        other = held.until_ok()
        assert other["model_fingerprint"] != first["model_fingerprint"]
        same = ("tokenizer_fingerprint", "framework_fingerprint", "hardware_fingerprint", "postprocess_fingerprint")
        assert [other[name] for name in same] == [first[name] for name in same]


def _is_whole(document: dict[str, object], model: Path) -> None:
    framework = document["framework"]
    assert isinstance(framework, dict)
    packages = framework["packages"]
    assert framework["engine"] == {
        "name": "llama-cpp-python",
        "version": packages["llama-cpp-python"],
        "commit": None,
    }
    assert (framework["flags"]["n-ctx"], framework["flags"]["n-threads"]) == ("512", "2")
    # The file that the engine was given, and no other.
    (entry,) = measure_model(model).weights
    assert isinstance(entry, FileEntry)
    assert entry.name == "model.gguf"


def _change_last_byte(file: Path) -> None:
    with file.open("r+b") as stream:
        stream.seek(-1, os.SEEK_END)
        last = stream.read(1)[0]
        stream.seek(-1, os.SEEK_END)
        stream.write(bytes([last ^ 1]))
