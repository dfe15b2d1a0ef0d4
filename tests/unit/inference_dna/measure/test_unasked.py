from __future__ import annotations

from typing import Any

import pytest

from inference_dna.genome import SECTIONS
from inference_dna.measure.unasked import unasked
from tests.support.manifests import genome_of, with_value

GENOME = genome_of()


def test_of_a_genome_that_an_engine_measured_nothing_is_missing() -> None:
    assert [unasked(GENOME, section) for section in SECTIONS] == [None] * len(SECTIONS)


@pytest.mark.parametrize(
    ("path", "value", "sections"),
    [
        pytest.param("weights.load.dtype", None, ["weights"], id="precision"),
        pytest.param("tokenizer.probe", None, ["tokenizer"], id="probe"),
        pytest.param("postprocess.values", None, ["postprocess"], id="an-engine-that-does-not-tell"),
        pytest.param("postprocess.kind", "files", ["postprocess"], id="told-by-its-files"),
        pytest.param("framework.engine.name", "at-rest", ["framework", "hardware"], id="at-rest"),
    ],
)
def test_what_nobody_was_asked_is_named(path: str, value: Any, sections: list[str]) -> None:
    changed = with_value(GENOME, path, value)

    assert [section for section in SECTIONS if unasked(changed, section)] == sections


def test_what_does_not_exist_needs_no_asking() -> None:
    none = {**GENOME, "tokenizer": {"kind": "none"}, "postprocess": {"kind": "embedded"}}

    assert [unasked(none, section) for section in SECTIONS] == [None] * len(SECTIONS)
