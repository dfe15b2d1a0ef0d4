"""What the benchmark knows of a proxy: whether it is here, how it is started, how it says its version."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.places import VENVS

VERSION_S = 60.0


@dataclass(frozen=True, slots=True)
class Site:
    """Where one proxy runs: a folder of its own, two ports of loopback, and the base URLs it relays to."""

    folder: Path
    port: int
    spare_port: int
    upstreams: tuple[str, ...]

    @property
    def addresses(self) -> tuple[str, ...]:
        """The upstreams as `host:port`."""
        return tuple(url.removeprefix("http://") for url in self.upstreams)


@dataclass(frozen=True, slots=True)
class Launch:
    """One command with the variables it needs."""

    command: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Peer:
    """One proxy.

    Attributes:
        program: Finds the program; None when it is not here.
        hint: How to get it, for the line that says it was skipped.
        launch: Writes what the program needs into the site's folder and gives the command.
        version: Asks the program for its version; one short word.
        start_s: How long it may take to come up.
        share: Share of the load that it is given where the rate is ours to choose (streams).
        note: What a reader of the table must know of its settings.
    """

    name: str
    program: Callable[[], Path | None]
    hint: str
    launch: Callable[[Site, Path], Launch]
    version: Callable[[Path], str]
    start_s: float = 30.0
    share: float = 1.0
    note: str = ""


def on_path(name: str) -> Callable[[], Path | None]:
    """Find a program the machine has installed."""

    def find() -> Path | None:
        found = shutil.which(name)
        return Path(found) if found else None

    return find


def in_venv(venv: str, name: str) -> Callable[[], Path | None]:
    """Find a program that `python -m bench peers install` put into its own environment."""

    def find() -> Path | None:
        program = VENVS / venv / "bin" / name
        return program if program.exists() else None

    return find


def said_version(*arguments: str, prefix: str) -> Callable[[Path], str]:
    """Read the version as the word behind `prefix` in what the program prints."""

    def ask(program: Path) -> str:
        done = subprocess.run(
            [str(program), *arguments], capture_output=True, text=True, timeout=VERSION_S, check=False
        )
        return word_after(prefix, done.stdout + done.stderr)

    return ask


def packaged_version(distribution: str) -> Callable[[Path], str]:
    """Read the version from the environment that the program stands in."""

    def ask(program: Path) -> str:
        found = program.parent.parent.glob(f"lib/*/site-packages/{distribution.replace('-', '_')}-*.dist-info")
        return next((folder.name.removesuffix(".dist-info").rpartition("-")[2] for folder in found), "unknown")

    return ask


def word_after(prefix: str, text: str) -> str:
    """The word that follows `prefix`, without a Debian suffix; `unknown` when it is not there."""
    _, found, rest = text.partition(prefix)
    words = rest.split()
    return words[0].partition("-")[0] if found and words else "unknown"
