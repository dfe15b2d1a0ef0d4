"""Keeps the standing of an engine true: looks at it all the time, measures it whenever something is another.

Rules this file holds: an identity is shown only for the process, files and labels it was measured on; whoever asks gets
the answer of this moment, not of the last look; files that changed under a running engine count as loaded only where
their content is what it was, or where the engine itself says that it has loaded anew.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus
from pathlib import Path
from threading import Event, RLock

from inference_dna.attest.answers import Silent
from inference_dna.attest.asked import Asked
from inference_dna.attest.command_line import named_paths
from inference_dna.attest.listener import answers_for, listener
from inference_dna.attest.measuring import Measured, measure
from inference_dna.attest.process import Process, seen_by
from inference_dna.attest.signs import (
    Signs,
    changed_file,
    check_listed,
    check_loaded,
    check_mapped,
    file_states,
    started_at_ns,
)
from inference_dna.canonical import Refused
from inference_dna.files import FileEntry
from inference_dna.genome import Genome, genome
from inference_dna.measure.healthz import Served
from inference_dna.measure.reading import FileState
from inference_dna.serving.stamp import Headers, health_answer
from inference_dna.serving.standing import Standing, Status

LOOK_S = 1.0
RETRY_S = 10.0
"""How long a measurement that failed is not tried again while nothing changed."""
LABELS_TIMEOUT_S = 5.0
SILENCE_S = 15.0
"""How long an engine that was measured may be too busy to say its labels, while process and files are the same."""

WallClock = Callable[[], int]
"""Nanoseconds of the clock that files carry."""


@dataclass(frozen=True, slots=True)
class _Good:
    """A measurement that held: on what it was taken, what came of it, and the files with their content."""

    signs: Signs
    genome: Genome
    contents: tuple[FileEntry, ...]


@dataclass(frozen=True, slots=True)
class _Failed:
    """A measurement that failed: on what, when (seconds that never go back)."""

    signs: Signs
    at_s: float


class Attestor:
    """Attests one engine. One thread calls `look`, any number `answer`.

    Args:
        asked: What is attested.
        served: What it is called.
        process: The engine as it runs now; started anew, it is found by its port.
        now_s: Seconds that never go back.
        wall_ns: Nanoseconds of the clock that files carry.
    """

    def __init__(
        self,
        asked: Asked,
        served: Served,
        process: Process,
        *,
        now_s: Callable[[], float] = time.monotonic,  # noqa: TID251 - the attestor's own clock, to be replaced in tests
        wall_ns: WallClock = time.time_ns,
    ) -> None:
        self.standing = Standing(served)
        self._asked, self._process = asked, process
        self._now_s, self._wall_ns = now_s, wall_ns
        self._good: _Good | None = None
        self._failed: _Failed | None = None
        self._last: Signs | None = None
        self._heard_at_s = now_s()
        self._loaded_at_ns = started_at_ns(process)
        self._lock = RLock()

    def run(self, stop: Event, *, every_s: float = LOOK_S) -> None:
        """Look again and again until told to stop."""
        while not stop.is_set():
            self.look()
            stop.wait(every_s)

    def look(self) -> None:
        """Compare the engine with what was measured; measure it where it was not, or is another."""
        try:
            signs = self._signs()
            self._heard_at_s = self._now_s()
            self._note_load(signs)
            if self._is_measured(signs):
                self._show_again(signs)
            elif self._may_try(signs):
                self._drop(signs)
                self._measure(signs)
        except Silent as silent:
            if not self.standing.is_ok or self._now_s() - self._heard_at_s >= SILENCE_S:
                self._fall(str(silent))
        except Refused as refused:
            self._fall(str(refused))

    def answer(self, method: str) -> tuple[HTTPStatus, Headers, bytes]:
        """Write the answer of `/healthz`, true at this moment: status, headers, body."""
        self._look_at_hand()
        return health_answer(self.standing, method)

    def _signs(self) -> Signs:
        self._follow()
        files = self._states()
        self._drop_if_another(files)
        labels = self._asked.engine.labels(self._asked.answers(LABELS_TIMEOUT_S))
        return Signs(self._process, files, labels)

    def _follow(self) -> None:
        """Stay with the process; one that ended is followed by whoever listens in its place."""
        port = self._asked.address.port
        if not self._process.is_running():
            self._fall(f"The engine, process {self._process.pid}, ended.")
            found = listener(port)
            if found is None:
                raise Refused(f"The engine ended, and nobody listens on port {port}.")
            self._process, self._last = found, None
            self._loaded_at_ns = started_at_ns(found)
        if not answers_for(self._process, port):
            raise Refused(f"Process {self._process.pid} does not listen on port {port}.")

    def _states(self) -> dict[str, FileState]:
        named = named_paths(self._asked.words(self._process), lambda path: seen_by(self._process, path))
        return file_states((self._asked.model, *named))

    def _note_load(self, signs: Signs) -> None:
        """Keep in mind when the engine last loaded: it started, began to answer, or said that it has other weights."""
        before, self._last = self._last, signs
        reloaded = before is not None and before.labels != signs.labels and self._asked.engine.reloads
        if reloaded:
            self._loaded_at_ns = self._wall_ns()

    def _is_measured(self, signs: Signs) -> bool:
        return self._good is not None and signs.change_since(self._good.signs) is None

    def _show_again(self, signs: Signs) -> None:
        """What was measured holds again: the engine had only been silent."""
        if self.standing.is_ok or self._good is None:
            return
        self._show(replace(self._good, signs=signs))

    def _may_try(self, signs: Signs) -> bool:
        failed = self._failed
        if failed is None or signs.change_since(failed.signs) is not None:
            return True
        return self._now_s() - failed.at_s >= RETRY_S

    def _drop(self, signs: Signs) -> None:
        change = None if self._good is None else signs.change_since(self._good.signs)
        self._fall(change or "The engine is being measured.")

    def _measure(self, signs: Signs) -> None:
        self._failed = _Failed(signs, self._now_s())
        measured = measure(self._asked, self._process)
        again = self._signs()
        self._note_load(again)
        change = again.change_since(signs)
        if change is not None:
            raise Refused(f"{change} It was being measured meanwhile.")
        contents = _contents(measured)
        if not self._is_known(signs, contents):
            check_loaded(signs.files, loaded_at_ns=self._loaded_at_ns)
            check_listed(self._asked.model, loaded_at_ns=self._loaded_at_ns)
        check_mapped(signs.process, measured.maps, signs.files)
        self._show(_Good(signs, genome(measured.genome), contents))
        self._failed = None

    def _is_known(self, signs: Signs, contents: tuple[FileEntry, ...]) -> bool:
        """Whether this very process was measured with this very content before: then nothing was replaced."""
        good = self._good
        return good is not None and good.signs.process == signs.process and good.contents == contents

    def _show(self, good: _Good) -> None:
        with self._lock:
            self._good = good
            if self._is_another(good):
                return  # the next look says what is another
            self.standing.measured(good.genome)
            self.standing.ready()

    def _fall(self, reason: str) -> None:
        """Say that no identity is shown, and why; a new start of the engine is a new boot id."""
        with self._lock:
            status = Status.LOADING if self._good is None else Status.PENDING
            if self.standing.is_ok or self.standing.state.status is not status:
                self.standing.changed(reason, status)
            else:
                self.standing.named(reason)

    def _look_at_hand(self) -> None:
        """What can be looked at without asking the engine: the process and the files."""
        with self._lock:
            good = self._good
            if good is None or not self.standing.is_ok:
                return
            if not good.signs.process.is_running():
                self._fall(f"The engine, process {good.signs.process.pid}, ended.")
                return
            try:
                self._drop_if_another(self._states())
            except Refused as refused:
                self._fall(str(refused))

    def _drop_if_another(self, files: Mapping[str, FileState]) -> None:
        """Drop at once, before the engine is asked anything: it may be slow to answer."""
        with self._lock:
            if self._good is None or not self.standing.is_ok:
                return
            file = changed_file(self._good.signs.files, files)
            if file is not None:
                self._fall(f"The file {Path(file).name!a} changed.")
            elif self._process != self._good.signs.process:
                self._fall("The engine was started anew.")

    def _is_another(self, good: _Good) -> bool:
        return not good.signs.process.is_running() or changed_file(good.signs.files, self._states()) is not None


def _contents(measured: Measured) -> tuple[FileEntry, ...]:
    folder = measured.folder
    return (*folder.weights, *folder.tokenizer, *folder.postprocess)
