from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from inference_dna.attest.interpreter import ask_tokenizer
from inference_dna.attest.process import require_running
from inference_dna.canonical import Refused
from inference_dna.measure.live_tokenizer import live_tokenizer
from inference_dna.measure.tokenizer import probe
from tests.support.smollm2 import model_folder

ME = require_running(os.getpid())


@pytest.mark.models
def test_the_engines_own_libraries_give_the_ids() -> None:
    from transformers import AutoTokenizer

    live = live_tokenizer(AutoTokenizer.from_pretrained(model_folder()))

    asked = ask_tokenizer(ME, model_folder())

    assert asked == probe(live.encode, special_tokens=live.special_tokens, render_chat=live.render_chat)


@pytest.mark.models
def test_a_tokenizer_that_cannot_be_loaded_is_refused(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text("{}", encoding="utf-8")

    with pytest.raises(Refused, match="own libraries cannot load the tokenizer"):
        ask_tokenizer(ME, tmp_path)


def test_an_interpreter_is_found_by_the_name_it_was_started_under(tmp_path: Path) -> None:
    program = "print('up', flush=True); input()"
    for name in (sys.executable, Path(sys.executable).name):
        search = {"PATH": f"/nowhere:{Path(sys.executable).parent}", "PYTHONPATH": ""}
        with subprocess.Popen(
            [name, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, executable=sys.executable, env=search
        ) as child:
            assert child.stdout is not None
            child.stdout.readline()
            # It gets as far as the library, or as the library's own word about an empty folder.
            with pytest.raises(Refused, match="own libraries cannot load the tokenizer"):
                ask_tokenizer(require_running(child.pid), tmp_path)
            child.communicate(b"\n")


def test_a_program_under_a_foreign_name_is_no_interpreter(tmp_path: Path) -> None:
    with subprocess.Popen(
        ["engine", "-c", "print('up', flush=True); input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        executable=sys.executable,
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        with pytest.raises(Refused, match="was not started by the name of its interpreter"):
            ask_tokenizer(require_running(child.pid), tmp_path)
        child.communicate(b"\n")
