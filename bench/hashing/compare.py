"""Hashes the same folders with every tool in one run, in turn, so that noise meets all of them alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from bench.calm import Calm
from bench.cores import CoreSplit
from bench.hashing.contender import Contender, Hashing, contenders
from bench.hashing.corpus import SHAPES, corpus, size_of
from bench.load.window import Window
from bench.machine import describe
from bench.plan import Plan, rotated
from bench.processes import StartError
from bench.progress import say
from bench.results import HashingComparison, HashingRepeat, HashingRow


def compare_hashing(cores: CoreSplit, plan: Plan, gigabytes: float) -> HashingComparison:
    """Measure every shape of folder with every tool that is here.

    Args:
        cores: The machine's; each tool may use all of them.
        plan: Repeats, and the patience to wait for quiet moments.
        gigabytes: Size of a folder in 10^9 bytes; it should fit into memory twice.

    Raises:
        StartError: A tool failed, or two tools disagree about a file.
    """
    machine = msgspec.structs.replace(describe(cores), split="every tool may use every core")
    everyone = contenders()
    here = [each for each in everyone if each.program() is not None]
    skipped = {each.name: f"not found; {each.hint}" for each in everyone if each.program() is None}
    for name, reason in skipped.items():
        say(f"{name}: {reason}")
    calm = Calm(cores.all, plan.patience_s)
    rows: list[HashingRow] = []
    for shape in SHAPES:
        with corpus(shape, gigabytes) as folder:
            rows += _shape(shape, folder, here, calm, plan, cores)
    taken_at = datetime.now(UTC).isoformat(timespec="seconds")
    return HashingComparison(taken_at, machine, gigabytes, plan.rounds, rows, skipped)


def _shape(
    shape: str, folder: Path, here: Sequence[Contender], calm: Calm, plan: Plan, cores: CoreSplit
) -> Sequence[HashingRow]:
    size = size_of(folder)
    repeats: dict[str, list[HashingRepeat]] = {each.name: [] for each in here}
    expected = here[0].run(folder).digests  # also brings the files into memory
    for turn in range(plan.rounds):
        for each in rotated(here, turn):
            calm.wait()
            window = Window((), (), cores.all)
            done = each.run(folder)
            _check(each.name, done, expected)
            repeats[each.name].append(_repeat(done, size, window.spent().foreign))
            say(f"{shape}: {each.name}: {repeats[each.name][-1].gb_per_s:.2f} GB/s")
    return [HashingRow(shape, each.name, each.version(), repeats[each.name]) for each in here]


def _check(name: str, done: Hashing, expected: Mapping[str, str]) -> None:
    if done.digests != expected:
        raise StartError(f"{name} found other digests than ours; one of both is wrong")


def _repeat(done: Hashing, size: int, foreign: float) -> HashingRepeat:
    gigabytes = size / 1e9
    return HashingRepeat(gb_per_s=gigabytes / done.seconds, cpu_s_per_gb=done.cpu_s / gigabytes, foreign=foreign)
