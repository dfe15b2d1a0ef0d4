"""From a folder to a worker that answers: loading, warming, ok. What may be said of it is a `Standing`."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock

from inference_dna.canonical import Refused
from inference_dna.genome import Genome
from inference_dna.guard import UNPROVEN, GuardRefused
from inference_dna.serving.standing import Standing, Status
from worker.backend import ClassifierBackend, IsolationBroken, TextBackend
from worker.bundle import BundleRefused
from worker.loader import Loader, Opened
from worker.readiness import Demands, SelfTestFailed, ask_itself, measure

UNLOADABLE = 88
"""Exit code of a worker whose bundle cannot be loaded; the guard's are 86 and 87 (`inference_dna.guard`)."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """What was measured, and what can be asked: one of the two. They belong together until the state changes."""

    genome: Genome
    text: TextBackend | None = None
    classifier: ClassifierBackend | None = None


@dataclass(frozen=True, slots=True)
class State:
    """Where the worker is, and why it is not further. `loaded` is None until everything was measured."""

    status: Status
    reason: str
    loaded: Loaded | None = None


@dataclass(frozen=True, slots=True)
class Crash:
    """Why the process must end: exit code and what to print."""

    code: int
    report: str


class Lifecycle:
    """Holds the state of one process. `load` runs once, in a thread of its own; everybody else reads.

    Args:
        standing: What may be said of the worker; nobody else changes it.
        announce: Is told every state but the first, in the thread that loads.
        end: Ends the process, from that thread.
    """

    def __init__(
        self,
        standing: Standing,
        *,
        announce: Callable[[State], None] = lambda _state: None,
        end: Callable[[Crash], None] = lambda _crash: None,
    ) -> None:
        self.standing = standing
        self._announce, self._end = announce, end
        self._loaded: Loaded | None = None
        self._breaking = Lock()
        standing.named("The bundle is being read.")

    @property
    def state(self) -> State:
        """The state of this moment."""
        held = self.standing.state
        return State(held.status, held.reason, None if held.genome is None else self._loaded)

    def load(self, loader: Loader, environ: Mapping[str, str], demands: Demands | None = None) -> None:
        """Load, warm up, prove and measure. Nothing is tried twice, so whatever fails ends the process with a reason.

        Args:
            loader: Makes the backend.
            environ: The environment of this process.
            demands: What must be proved before the worker is ok; None demands nothing beyond the measurement.
        """
        try:
            opened = loader.get()
        except Exception as error:  # noqa: BLE001 - told in full where the process ends
            self._crash(crash_of(error, is_loaded=False))
            return
        try:
            self._advance(opened, environ, demands or Demands())
        except Exception as error:  # noqa: BLE001 - as above
            self._crash(crash_of(error, is_loaded=True))

    def broken(self, violation: IsolationBroken) -> None:
        """A request reached shared state: from now on nothing is answered, and `/healthz` says which field it was."""
        with self._breaking:
            if self.standing.is_ok:
                self.standing.changed(f"{violation} Restart this worker.", Status.PENDING)
                self._announce(self.state)

    def _advance(self, opened: Opened, environ: Mapping[str, str], demands: Demands) -> None:
        self.standing.warming()
        opened.backend.warm_up()
        genome, notes = measure(opened, environ, demands)
        # Sealed before the first answer is made: what answering writes, be it the same each time, was not there then.
        guarded = opened.guarded(every=demands.guard_every, broken=self.broken)
        if demands.deterministic:
            ask_itself(guarded)
        self._loaded = Loaded(genome, guarded.text, guarded.classifier)
        self.standing.measured(genome, **notes)
        self._announce(self.state)
        self.standing.ready()
        self._announce(self.state)

    def _crash(self, crash: Crash) -> None:
        # Whatever was measured before does not count: a worker that failed has no identity.
        self.standing.changed(crash.report.splitlines()[0])
        self._announce(self.state)
        self._end(crash)


def crash_of(error: Exception, *, is_loaded: bool) -> Crash:
    """Say how a start ends that failed: a sentence, and a traceback only where nobody foresaw the failure.

    Args:
        error: What loading, warming up, measuring or the self-test raised.
        is_loaded: Whether the bundle had been loaded by then.
    """
    code = UNPROVEN if is_loaded else UNLOADABLE
    match error:
        case GuardRefused():
            return Crash(error.code, error.report())
        case BundleRefused() | Refused() | SelfTestFailed() | IsolationBroken():
            # Messages of libraries are quoted inside, and those may be paragraphs.
            return Crash(code, " ".join(str(error).split()) + "\n")
        case _:
            told = "".join(traceback.format_exception(error))
            return Crash(code, f"The start ended in an unexpected {type(error).__name__}: {error}\n{told}")
