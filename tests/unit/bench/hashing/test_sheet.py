from __future__ import annotations

from bench.machine import Machine
from bench.report.page import blocks
from bench.report.sheet import hashing_sheets
from bench.results import HashingComparison, HashingRepeat, HashingRow, Results

MACHINE = Machine("A Processor", 2, 8.0, "6.1", "3.11.7", 0.1, "every tool may use every core")


def row(shape: str, name: str, *speeds: float) -> HashingRow:
    return HashingRow(shape, name, "1.2", [HashingRepeat(speed, 1 / speed, 0.01) for speed in speeds])


MEASURED = HashingComparison(
    taken_at="2025-01-31T12:00:00+00:00",
    machine=MACHINE,
    gigabytes=4,
    rounds=2,
    rows=[
        row("8 shards", "dna-gateway", 2.0, 4.0),
        row("8 shards", "sha256sum", 1.0, 1.0),
        row("one file", "dna-gateway", 1.0, 1.0),
    ],
    skipped={"model_signing": "not found; python -m bench peers install model-signing"},
)


def test_each_shape_has_a_table_with_ratios_taken_inside_a_round() -> None:
    shards, one_file = hashing_sheets(MEASURED)

    assert shards.title == "4 GB, 8 shards"
    assert shards.rows == (
        ("dna-gateway 1.2", "3.00 (2.00–4.00)", "–", "0.38", "1%"),
        ("sha256sum 1.2", "1.00 (1.00–1.00)", "3.00 (2.00–4.00)", "1.00", "1%"),
    )
    assert [cells[0] for cells in one_file.rows] == ["dna-gateway 1.2"]


def test_the_page_says_who_was_skipped() -> None:
    text = blocks(Results(hashing=MEASURED))["hashing"]

    assert "* model_signing was skipped: not found; python -m bench peers install model-signing\n" in text
    assert "every tool may use every core" in text
