from __future__ import annotations

from bench.report.page import blocks
from bench.report.sheet import comparison_sheets
from bench.results import Comparison, Results


def test_a_row_says_figures_with_their_range_and_the_ratio_to_ours(comparison: Comparison) -> None:
    at_32 = next(sheet for sheet in comparison_sheets(comparison) if "32" in sheet.title)
    rows = {row[0]: row for row in at_32.rows}

    assert rows["nginx 1.2"][1:5] == ("6,000 (3,000–12,000)", "0.50 (0.50–0.50)", "16.0", "0.80")
    assert rows["dna-gateway 1.2"][2] == rows["direct 1.2"][2] == "–"


def test_the_page_names_who_was_skipped_and_the_machine(comparison: Comparison) -> None:
    text = blocks(Results(comparison=comparison))["comparison"]

    assert "* haproxy was skipped: not found; install haproxy\n" in text
    assert "2 cores of A Processor" in text
    assert "second line" not in text
