"""The guide lists every rule, as readers look them up."""

from __future__ import annotations

from pathlib import Path

from inference_dna.doctor.finding import ADVICE, Rule

GUIDE = Path(__file__).parents[4] / "docs" / "guides" / "shared-models.md"


def test_every_rule_is_in_the_guide_and_has_advice() -> None:
    page = GUIDE.read_text(encoding="utf-8")

    assert [rule for rule in Rule if f"| `{rule}` |" not in page] == []
    assert set(ADVICE) == set(Rule)
