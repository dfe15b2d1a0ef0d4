from typing import Any

import pytest
from pydantic import ValidationError

from contracts.accepted import Accepted, AcceptedDna

DIGEST = "sha256:bc261cf54243739820d50076c61e398ddc56b9da0a9df74aed6b84bef8da7459"
DNA = "7cd8a0c1aa6a64d4"


def entry(**members: Any) -> AcceptedDna:
    return AcceptedDna.model_validate(members)


@pytest.mark.parametrize(
    ("members", "first8"),
    [
        ({"dna": DNA}, "7cd8a0c1"),
        ({"digest": DIGEST}, None),
        ({"dna": DNA, "digest": DIGEST, "label": "A100 cu121"}, "7cd8a0c1"),
        ({"dna": "ffffffffaa6a64d4", "digest": DIGEST}, "ffffffff"),
    ],
)
def test_an_entry_states_a_dna_a_digest_or_both(members: dict[str, Any], first8: str | None) -> None:
    assert entry(**members).first8 == first8


@pytest.mark.parametrize(
    ("members", "sentence"),
    [
        ({}, "needs a dna, a digest, or both"),
        ({"label": "A100"}, "needs a dna, a digest, or both"),
        ({"dna": "7cd8a0c1"}, "no DNA; write 16 of"),
        ({"dna": DNA.upper()}, "no DNA; write 16 of"),
        ({"digest": DIGEST.removeprefix("sha256:")}, "no digest; write `sha256:`"),
        ({"digest": "sha256:abc"}, "no digest; write `sha256:`"),
        ({"digest": DIGEST.upper()}, "no digest; write `sha256:`"),
        ({"digest": "dna2-sha256:abcd"}, 'the digest name "dna2-sha256" is of a format that is not known here'),
        ({"dna": "7cd8a0c100000000", "digest": DIGEST}, "does not belong to the digest: .* must be aa6a64d4"),
    ],
)
def test_an_entry_that_cannot_be_meant_is_refused(members: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValidationError, match=sentence):
        entry(**members)


def test_entries_are_arranged_for_verdicts() -> None:
    accepted = Accepted.of(
        [entry(dna=DNA, digest=DIGEST), entry(dna="05f38cc080274c5e"), entry(digest="sha256:" + "0" * 64)]
    )

    assert accepted.first8_of == {DIGEST: "7cd8a0c1", "sha256:" + "0" * 64: None}
    assert accepted.labels == {"7cd8a0c1", "05f38cc0"}
