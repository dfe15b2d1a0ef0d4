"""The messages the demo model learns from and is judged by: one file per intent under `dataset/`.

Each row has the columns `split` (train or heldout, fixed for good: a message never changes sides), `since` (the release
line whose training first saw it), `lang` (zh or en) and `text`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "dataset"
COLUMNS = ("split", "since", "lang", "text")
TRAIN, HELDOUT = "train", "heldout"


@dataclass(frozen=True, slots=True)
class Message:
    """One customer-service message and what its writer wants."""

    intent: str
    split: str
    since: str
    lang: str
    text: str


def read_dataset(folder: Path = FOLDER) -> tuple[Message, ...]:
    """Read every intent's file, in the order of their names.

    Raises:
        ValueError: A file's header or a row has other columns than this module names.
    """
    return tuple(message for path in sorted(folder.glob("*.tsv")) for message in _read_intent(path))


def training_messages(messages: Iterable[Message], lines: Iterable[str]) -> tuple[Message, ...]:
    """Keep what a release of these lines may learn from."""
    allowed = frozenset(lines)
    return tuple(message for message in messages if message.split == TRAIN and message.since in allowed)


def heldout_messages(messages: Iterable[Message]) -> tuple[Message, ...]:
    """Keep what no release ever learns from."""
    return tuple(message for message in messages if message.split == HELDOUT)


def intents(messages: Iterable[Message]) -> tuple[str, ...]:
    """Name the intents, sorted: this is the order of the model's outputs."""
    return tuple(sorted({message.intent for message in messages}))


def _read_intent(path: Path) -> list[Message]:
    header, *rows = path.read_text(encoding="utf-8").splitlines()
    if tuple(header.split("\t")) != COLUMNS:
        raise ValueError(f"{path.name} must begin with the columns {', '.join(COLUMNS)}.")
    return [_message(path, row) for row in rows]


def _message(path: Path, row: str) -> Message:
    fields = row.split("\t")
    if len(fields) != len(COLUMNS):
        raise ValueError(f"{path.name}: the row {row!r} has {len(fields)} columns instead of {len(COLUMNS)}.")
    split, since, lang, text = fields
    return Message(path.stem, split, since, lang, text)
