"""What shows that an engine is no longer the one that was measured, cheap enough to be looked at all the time.

None of it proves what runs: a process that was never restarted, files that nobody touched and labels that are the same
only say that an earlier measurement still holds.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from inference_dna.attest.content import visible_files
from inference_dna.attest.process import Process, mapped_files, seen_by
from inference_dna.canonical import Json, Refused
from inference_dna.measure.reading import FileState, reading_errors


@dataclass(frozen=True, slots=True)
class Signs:
    """One look: the process, the state of each file by its path, and what the engine calls what it serves."""

    process: Process
    files: Mapping[str, FileState]
    labels: Json

    def change_since(self, before: Signs) -> str | None:
        """Say in one sentence what changed; None where nothing did."""
        if self.process != before.process:
            return f"The engine was started anew: process {self.process.pid} in place of {before.process.pid}."
        file = changed_file(before.files, self.files)
        if file is not None:
            return f"The file {file!a} changed."
        return None if self.labels == before.labels else "The engine says that it serves something else."


def file_states(paths: Iterable[Path]) -> dict[str, FileState]:
    """The state of files, and of all visible files below folders.

    Raises:
        Refused: One of them cannot be looked at.
    """
    found = {}
    for path in paths:
        found.update({str(file.path): _state(file.path) for file in visible_files(path)})
    return found


def changed_file(before: Mapping[str, FileState], after: Mapping[str, FileState]) -> str | None:
    """Name the first file that is new, gone or in another state; None where there is none."""
    names = sorted(before.keys() | after.keys())
    return next((name for name in names if before.get(name) != after.get(name)), None)


def started_at_ns(process: Process) -> int:
    """When a process started at the latest, in nanoseconds of the clock that files carry."""
    since_boot = time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.time_ns() - int((since_boot - process.start_s) * 1e9)


def check_loaded(states: Mapping[str, FileState], *, loaded_at_ns: int) -> None:
    """Refuse files that changed after the engine had loaded them: what it holds is not what lies there.

    Raises:
        Refused: As said.
    """
    for name, state in sorted(states.items()):
        if max(state.mtime_ns, state.ctime_ns) > loaded_at_ns:
            raise Refused(
                f"The file {name!a} changed after the engine had started, so nobody knows what it has loaded; restart "
                "the engine."
            )


def check_listed(model: Path, *, loaded_at_ns: int) -> None:
    """Refuse a model folder in which names came or went after the engine had loaded it: what it read may be gone.

    Raises:
        Refused: As said.
    """
    if not model.is_dir():
        return
    for folder in sorted({(model / found.name).parent for found in visible_files(model)}):
        with reading_errors(f"the folder {str(folder)!a}"):
            changed_at_ns = folder.stat().st_mtime_ns
        if changed_at_ns > loaded_at_ns:
            raise Refused(
                f"Files were added to {str(folder)!a} or taken away after the engine had started, so nobody knows what "
                "it has loaded; restart the engine."
            )


def check_mapped(process: Process, maps: str, states: Mapping[str, FileState]) -> None:
    """Refuse files in whose place the engine still holds others.

    Raises:
        Refused: As said.
    """
    for path, mapped in mapped_files(maps).items():
        state = states.get(os.path.realpath(seen_by(process, path)))
        if state is None:
            continue
        # Some file systems number mapped files differently; then only the kernel's own mark counts.
        is_other = mapped.device == state.device and mapped.inode != state.inode
        if mapped.is_gone or is_other:
            raise Refused(f"The engine still holds another file than lies at {path!a}; restart the engine.")


def _state(path: Path) -> FileState:
    with reading_errors(f"the file {str(path)!a}"):
        status = path.stat()
    return FileState(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
