"""Trains the demo versions: `python -m worker.demo.train [--output FOLDER] [VERSION ...]`.

Without arguments it makes every bundle anew in its place. The same messages give the same files on the same machine;
another processor may round differently in the last place.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from worker.bundle import read_bundle
from worker.demo.accuracy import Accuracy, accuracy
from worker.demo.building import build
from worker.demo.dataset import heldout_messages, read_dataset
from worker.demo.recipes import BUNDLES, RECIPES, recipe
from worker.demo.resave import DRIFTED, RESAVED_FROM, resave
from worker.engine import load_engine


def main(arguments: Sequence[str] | None = None) -> int:
    """Train, and print the held-out accuracy of each version."""
    parser = argparse.ArgumentParser(prog="python -m worker.demo.train", description="Trains the demo versions.")
    parser.add_argument("versions", nargs="*", default=[known.version for known in RECIPES], metavar="VERSION")
    parser.add_argument("--output", type=Path, default=BUNDLES, help="folder that gets one folder per version")
    options = parser.parse_args(arguments)
    messages = read_dataset()
    for version in options.versions:
        build(recipe(version), messages, options.output / version)
        _show(version, measured(options.output / version))
    if RESAVED_FROM in options.versions:
        resave(options.output / RESAVED_FROM, options.output / DRIFTED)
        _show(DRIFTED, measured(options.output / DRIFTED))
    return 0


def measured(folder: Path) -> Accuracy:
    """Ask a bundle every held-out message."""
    return accuracy(load_engine(read_bundle(folder)), heldout_messages(read_dataset()))


def _show(name: str, result: Accuracy) -> None:
    sys.stdout.write(
        f"{name:16} held-out accuracy {result.overall:.3f} of {result.messages} "
        f"(zh {result.chinese:.3f}, en {result.english:.3f}), fallback {result.fallback:.3f}\n"
    )
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
