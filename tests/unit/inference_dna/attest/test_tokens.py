from __future__ import annotations

import pytest

from inference_dna.attest.tokens import special_tokens
from inference_dna.canonical import Refused


def test_special_tokens_are_found_with_their_ids() -> None:
    added = b'[{"id": 7, "content": "<eos>", "special": true}, {"id": 8, "content": "x", "special": false}]'

    assert special_tokens(b'{"added_tokens": ' + added + b"}") == {"<eos>": 7}
    assert special_tokens(None) == {}


def test_a_file_that_is_no_tokenizer_is_refused() -> None:
    with pytest.raises(Refused, match="no tokenizer"):
        special_tokens(b"{}")
