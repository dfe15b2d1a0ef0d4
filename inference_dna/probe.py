"""The probe set: texts that every tokenizer is asked, and the digests over texts and answers (dna.md section 4)."""

from __future__ import annotations

from collections.abc import Sequence

from inference_dna.canonical import canonical
from inference_dna.digest import hashed

PROBE_SET = "probe/1"

PROBE_TEXTS: tuple[str, ...] = (
    "",
    " ",
    "a",
    " a",
    "Hello, world!",
    "hello  world",
    "0123456789",
    "3.14159 -42 1,000,000",
    "2024-05-11T03:00:00Z",
    "The quick brown fox jumps over the lazy dog.",
    "don't can't we'll I'm",
    "\tdef f(x):\n\t\treturn x ** 2\n",
    "if (a && b || !c) { return a[0]; }",
    "https://example.org/a?b=1&c=%20#d",
    "你好，世界！",
    "苹果发布了新款iPhone",
    "ｆｕｌｌｗｉｄｔｈ１２３",
    "日本語のテキスト",
    "한국어 문장",
    "Привет, мир",
    "مرحبا بالعالم",
    "शांति",
    "café",
    "cafe\u0301",
    "naïve coöperate",
    "\U0001f600 \U0001f468\u200d\U0001f469\u200d\U0001f467",
    "\U00020000\U0001d54f",
    "x\u00a0y\u3000z",
    "a\u200bb",
    "line one\r\nline two\n\n\nline five",
    "!!!???...---___***",
    '{"k": [1, 2.50, null, true]}',
)
"""The 32 texts of `probe/1`; the model's special tokens follow them, in id order."""

PROBE_CHAT: tuple[dict[str, str], ...] = (
    {"role": "system", "content": "You are a careful assistant."},
    {"role": "user", "content": "What is 12 * 12? 请用中文回答。"},
    {"role": "assistant", "content": "144。"},
    {"role": "user", "content": "And half of it? \U0001f642"},
)
"""The conversation that is rendered through the chat path."""


def texts_digest(texts: Sequence[str]) -> str:
    """Compute `H("probe/texts", C(texts))`, 64 bare hex.

    Raises:
        Refused: A text has no canonical form.
    """
    return hashed("probe/texts", canonical(list(texts)))


def ids_digest(ids: Sequence[Sequence[int]]) -> str:
    """Compute `H("probe/ids", C(ids))`, ids in the order of the texts, 64 bare hex.

    Raises:
        Refused: An id has no canonical form.
    """
    return hashed("probe/ids", canonical([list(sequence) for sequence in ids]))
