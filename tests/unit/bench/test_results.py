from __future__ import annotations

from pathlib import Path

import msgspec

from bench.results import Comparison, Results, read_results, write_results


def test_what_was_written_is_read_again(tmp_path: Path, comparison: Comparison) -> None:
    path = tmp_path / "results" / "latest.json"
    assert read_results(path) == Results()

    write_results(path, Results(comparison=comparison))

    assert read_results(path) == Results(comparison=comparison)


def test_figures_are_rounded_and_one_a_line(tmp_path: Path, comparison: Comparison) -> None:
    path = tmp_path / "latest.json"
    write_results(path, Results(comparison=msgspec.structs.replace(comparison, seconds=1 / 3)))

    assert '\n  "seconds": 0.3333,\n' in path.read_text()
