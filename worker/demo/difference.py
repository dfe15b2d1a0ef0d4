"""Shows how two bundles answer the held-out messages: `python -m worker.demo.difference FIRST SECOND`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from worker.bundle import read_bundle
from worker.demo.accuracy import Accuracy, accuracy
from worker.demo.dataset import Message, heldout_messages, read_dataset
from worker.engine import Engine, load_engine
from worker.ranking import Answer


@dataclass(frozen=True, slots=True)
class Changed:
    """One message that two engines answer with different intents."""

    message: Message
    first: Answer
    second: Answer

    @property
    def is_lost(self) -> bool:
        """Whether the first was right: what the second says instead must be wrong."""
        return self.first.intent == self.message.intent

    @property
    def is_gained(self) -> bool:
        """Whether the second is right where the first was wrong."""
        return self.second.intent == self.message.intent


@dataclass(frozen=True, slots=True)
class Difference:
    """Two engines on the same messages. `reworded` counts equal intents whose confidences differ."""

    asked: int
    changed: tuple[Changed, ...]
    reworded: int
    first: Accuracy
    second: Accuracy


def compare(first: Path, second: Path) -> Difference:
    """Ask two bundles every held-out message.

    Raises:
        BundleRefused: One of them cannot be served.
    """
    engines = [load_engine(read_bundle(folder)) for folder in (first, second)]
    return difference(engines[0], engines[1], heldout_messages(read_dataset()))


def difference(first: Engine, second: Engine, messages: Sequence[Message]) -> Difference:
    """Ask two engines the same messages."""
    pairs = [Changed(message, _answer(first, message), _answer(second, message)) for message in messages]
    changed = tuple(pair for pair in pairs if pair.first.intent != pair.second.intent)
    return Difference(
        asked=len(messages),
        changed=changed,
        reworded=sum(pair.first != pair.second for pair in pairs) - len(changed),
        first=accuracy(first, messages),
        second=accuracy(second, messages),
    )


def report(found: Difference, *, names: tuple[str, str], examples: int) -> Iterable[str]:
    """Write a difference as lines for a terminal."""
    lost, gained = sum(pair.is_lost for pair in found.changed), sum(pair.is_gained for pair in found.changed)
    yield f"{found.asked} held-out messages: {len(found.changed)} answered differently ({lost} lost, {gained} gained)"
    yield f"  {found.reworded} more with the same intent and another confidence"
    for name, result in zip(names, (found.first, found.second), strict=True):
        yield f"  {name:16} accuracy {result.overall:.3f} (zh {result.chinese:.3f}, en {result.english:.3f})"
    # What was right and now is wrong comes first: that is what a client loses.
    for pair in sorted(found.changed, key=lambda pair: not pair.is_lost)[:examples]:
        yield f"  {pair.message.text!r} is {pair.message.intent}"
        for name, answer in zip(names, (pair.first, pair.second), strict=True):
            yield f"    {name:16} {answer.intent} ({answer.confidence:.2f})"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the difference of two bundles; exit 1 where there is none."""
    parser = argparse.ArgumentParser(prog="python -m worker.demo.difference", description=__doc__)
    parser.add_argument("first", type=Path)
    parser.add_argument("second", type=Path)
    parser.add_argument("--examples", type=int, default=5, help="how many changed answers are shown")
    options = parser.parse_args(arguments)
    found = compare(options.first, options.second)
    names = (options.first.name, options.second.name)
    sys.stdout.writelines(f"{line}\n" for line in report(found, names=names, examples=options.examples))
    return 0 if found.changed else 1


def _answer(engine: Engine, message: Message) -> Answer:
    return engine.infer(message.text).answer


if __name__ == "__main__":
    sys.exit(main())
