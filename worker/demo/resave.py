"""Plants the accident of the demo: weights as they were, the tokenizer saved again under another setting.

Somebody loaded the tokenizer with `do_lower_case` off, as a migration script did by default, and saved it into the
model folder. Every file parses, the worker is healthy and claims its version; capitals have become unknown tokens.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from tokenizers import Tokenizer, normalizers

from worker.bundle import MANIFEST, TOKENIZER

RESAVED_FROM = "v2.4.0"
DRIFTED = "v2.4.0-drifted"
"""A folder, not a version: the worker that serves it is told to say that it is `RESAVED_FROM`."""

_CONFIG = "tokenizer_config.json"


def resave(source: Path, target: Path) -> None:
    """Copy a bundle with its tokenizer saved again.

    The manifest stays behind: it would not be true of the copy, and a folder that was copied by hand has none.
    """
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target, ignore=shutil.ignore_patterns(MANIFEST))
    tokenizer = Tokenizer.from_file(str(source / TOKENIZER))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC()])
    _write(target / TOKENIZER, tokenizer.to_str(pretty=True))
    config = json.loads((source / _CONFIG).read_text(encoding="utf-8"))
    _write(target / _CONFIG, json.dumps(config | {"do_lower_case": False}, indent=2))


def _write(path: Path, text: str) -> None:
    path.write_text(text + "\n", encoding="utf-8", newline="\n")
