from __future__ import annotations

import importlib
import json
import os
import shlex
import sys
import webbrowser
from functools import partial
from pathlib import Path
from textwrap import dedent
from types import ModuleType
from typing import Any

import pytest

from inference_dna.canonical import Refused
from inference_dna.measure.code.reads import find_reads, variables_of
from inference_dna.measure.code.source import read_source

CODE = dedent("""\
    import logging
    import os

    LOGGER = logging.getLogger("post")
    LIMIT = int(os.environ.get("LIMIT", "3"))
    LETTERS = ["a", "b"]

    def shorten(text):
        LOGGER.debug("short")
        return text[:LIMIT]

    def cut_at(limit):
        def cut(text):
            return text[:limit]
        return cut

    class Upper:
        def __init__(self, letters):
            self.letters = letters

        def __call__(self, text):
            return helper(text, self.letters)

        def apply(self, text):
            return text

    def helper(text, letters):
        return text.upper()
    """)


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module as a worker imports it from its own folder."""
    (tmp_path / "post.py").write_text(CODE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "post", raising=False)
    made = importlib.import_module("post")
    monkeypatch.setitem(sys.modules, "post", made)
    return made


def test_own_code_is_its_whole_module_because_helpers_stand_beside_it(own: ModuleType) -> None:
    source = read_source(own.Upper(["x"]))

    assert source.text == CODE.encode()
    assert (source.name, source.place) == ("post.Upper", "post.py")
    assert source.values == {"attributes": {"letters": ["x"]}}


def test_the_values_that_code_closes_over_are_told(own: ModuleType) -> None:
    assert read_source(own.cut_at(5)).values == {"closure": {"limit": 5}}
    assert read_source(own.cut_at(6)).values == {"closure": {"limit": 6}}


def test_a_value_of_the_module_is_told_as_it_is_now(own: ModuleType) -> None:
    assert read_source(own.shorten).values == {"module": {"LIMIT": 3}}
    own.LIMIT = 4  # type: ignore[attr-defined]
    assert read_source(own.shorten).values == {"module": {"LIMIT": 4}}


def test_partials_and_methods_are_looked_through(own: ModuleType) -> None:
    bound = read_source(partial(own.shorten, "x", strict=True))
    method = read_source(own.Upper(["x"]).apply)

    assert bound.name == "post.shorten"
    assert bound.values == {"arguments": {"positional": ["x"], "named": {"strict": True}}, "module": {"LIMIT": 3}}
    assert method.values == {"method": "apply", "attributes": {"letters": ["x"]}}


def test_a_class_is_its_source(own: ModuleType) -> None:
    assert read_source(own.Upper).name == "post.Upper"


def test_installed_code_is_its_class_and_what_it_inherits() -> None:
    source = read_source(json.JSONEncoder())

    assert source.text.startswith(b"class JSONEncoder")
    assert b"def loads" not in source.text


def test_installed_code_knows_what_the_names_of_its_module_stand_for() -> None:
    known = read_source(shlex.shlex("")).known

    assert (known["os"], known["sys"]) == ("os", "sys")


def test_a_read_in_installed_code_is_found_without_its_imports() -> None:
    source = read_source(webbrowser.register_standard_browsers)

    assert "BROWSER" in variables_of(find_reads(source.text, source.place, known=source.known))


def test_the_environment_under_a_name_of_its_own_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shlex, "settings", os.environ, raising=False)

    assert read_source(shlex.shlex("")).known["settings"] == "os.environ"


def test_own_code_brings_its_imports(own: ModuleType) -> None:
    assert read_source(own.shorten).known == {}


@pytest.mark.models
def test_a_processor_of_transformers_is_its_class() -> None:
    from transformers import TemperatureLogitsWarper

    source = read_source(TemperatureLogitsWarper(0.7))

    assert source.text.startswith(b"class TemperatureLogitsWarper(LogitsProcessor):")
    assert b"class LogitsProcessor:" in source.text
    assert b"class TopKLogitsWarper" not in source.text
    assert source.values == {"attributes": {"temperature": 0.7}}


@pytest.mark.parametrize("code", [len, dict, {}, 5])
def test_compiled_code_has_no_source(code: Any) -> None:
    with pytest.raises(Refused, match="has no source"):
        read_source(code)


def test_code_made_at_run_time_has_no_source() -> None:
    names: dict[str, Any] = {}
    exec("def f(text): return text", {"__name__": "made"}, names)

    with pytest.raises(Refused, match=r"made\.f has no source"):
        read_source(names["f"])


def test_a_class_that_is_not_in_the_file_it_names_has_no_source() -> None:
    made = type("Made", (), {"__module__": "json.encoder"})

    with pytest.raises(Refused, match=r"The source of json\.encoder\.Made cannot be found"):
        read_source(made)


def test_code_whose_file_is_gone_has_no_source(own: ModuleType) -> None:
    assert own.__file__ is not None
    Path(own.__file__).unlink()

    with pytest.raises(Refused, match="has no source"):
        read_source(own.Upper)
