from __future__ import annotations

import json
import unicodedata
from pathlib import Path

from inference_dna.probe import PROBE_CHAT, PROBE_SET, PROBE_TEXTS, ids_digest, texts_digest

DOCUMENT = json.loads((Path(__file__).parents[2] / "vectors" / "dna_vectors.json").read_text(encoding="utf-8"))


def test_the_set_and_the_conversation_are_those_of_the_vectors() -> None:
    assert list(PROBE_TEXTS) == DOCUMENT["probe_sets"][PROBE_SET]
    assert list(PROBE_CHAT) == DOCUMENT["probe_chat"]


def test_the_digest_of_the_texts_is_the_one_dna_md_prints() -> None:
    assert texts_digest(PROBE_TEXTS).startswith("48ae5d17")
    assert texts_digest(PROBE_TEXTS).endswith("8e6fca")


def test_the_set_has_what_a_known_break_left_untested() -> None:
    """Digits and punctuation split differently under a library update that left letters intact (mellea#947)."""
    together = "".join(PROBE_TEXTS)

    assert set("0123456789") <= set(together)
    assert {unicodedata.category(character) for character in together} >= {"Po", "Lo", "Mn", "Cf", "So", "Nd"}
    assert {" ", " a"} <= set(PROBE_TEXTS)


def test_ids_are_hashed_in_the_order_of_their_texts() -> None:
    assert ids_digest([[1], [2]]) != ids_digest([[2], [1]])
    assert ids_digest(((1,), (2,))) == ids_digest([[1], [2]])
