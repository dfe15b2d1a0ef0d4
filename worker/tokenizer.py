"""The path from a message to token ids, the same for requests and for the probe."""

from __future__ import annotations

from collections.abc import Sequence

import tokenizers
from tokenizers import Tokenizer

from inference_dna.canonical import Json
from inference_dna.files import FileEntry
from inference_dna.measure.tokenizer import probe, tokenizer_section


class TokenizerRefused(Exception):
    """A tokenizer file the library cannot read; the message is a sentence."""


class MessageTokenizer:
    """A tokenizer loaded from the bytes of `tokenizer.json`. Nothing of it changes afterwards; threads may share it."""

    def __init__(self, content: bytes) -> None:
        self._tokenizer = _load(content)

    @property
    def vocabulary_size(self) -> int:
        """How many token ids there are, special tokens included."""
        return self._tokenizer.get_vocab_size()

    def encode(self, text: str) -> list[int]:
        """Give the ids the model is fed with: normalised, special tokens added, cut to the model's length."""
        return self._tokenizer.encode(text).ids

    def special_tokens(self) -> dict[str, int]:
        """The special tokens with their ids."""
        added = self._tokenizer.get_added_tokens_decoder()
        return {token.content: number for number, token in added.items() if token.special}

    def section(self, files: Sequence[FileEntry]) -> dict[str, Json]:
        """Measure the tokenizer section of the genome: the files and what this very object answers to the probe."""
        truncation = self._tokenizer.truncation or {}
        settings: dict[str, Json] = {
            "add_special_tokens": True,
            "max_length": truncation.get("max_length"),
            "truncation_side": truncation.get("direction"),
        }
        return tokenizer_section(
            files,
            probe(self.encode, special_tokens=self.special_tokens()),
            kind="huggingface-fast",
            settings=settings,
            evidence={"library": f"tokenizers {tokenizers.__version__}", "vocab_size": self.vocabulary_size},
        )


def _load(content: bytes) -> Tokenizer:
    try:
        return Tokenizer.from_str(content.decode("utf-8"))
    # The library raises a bare Exception for any file it cannot read.
    except Exception as error:
        raise TokenizerRefused(f"tokenizer.json cannot be loaded: {error}.") from error
