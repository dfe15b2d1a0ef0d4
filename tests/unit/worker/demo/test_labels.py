from __future__ import annotations

from worker.demo.dataset import intents, read_dataset
from worker.demo.labels import FALLBACK, LABELS


def test_every_intent_and_the_fallback_have_a_name_in_both_languages() -> None:
    assert LABELS.keys() == {*intents(read_dataset()), FALLBACK}
    assert all(names.keys() == {"zh", "en"} for names in LABELS.values())
