"""From a folder to a worker that answers: loading, warming, ok. What may be said of it is a `Standing`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock

from inference_dna.canonical import Refused
from inference_dna.genome import Genome
from inference_dna.guard import UNPROVEN, GuardRefused
from inference_dna.serving.standing import Standing, Status
from worker.backend import ClassifierBackend, IsolationBroken, TextBackend
from worker.bundle import BundleRefused
from worker.loader import Loader
from worker.readiness import Demands, SelfTestFailed, ask_itself, measure


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
        """Load, warm up, prove and measure. A failure is a state with a reason (provenance.md section 1, rule 6).

        A worker that is something else than promised, or fails its self-test, ends instead.

        Args:
            loader: Makes the backend.
            environ: The environment of this process.
            demands: What must be proved before the worker is ok; None demands nothing beyond the measurement.
        """
        try:
            self._advance(loader, environ, demands or Demands())
        except GuardRefused as refused:
            self._crash(Crash(refused.code, refused.report()))
        except (SelfTestFailed, IsolationBroken) as failed:
            self._crash(Crash(UNPROVEN, f"{failed}\n"))
        except (BundleRefused, Refused) as error:
            self._fail(str(error))
        except Exception as error:
            self._fail(f"Loading ended in an unexpected {type(error).__name__}; the log has it.")
            raise

    def broken(self, violation: IsolationBroken) -> None:
        """A request reached shared state: from now on nothing is answered, and `/healthz` says which field it was."""
        with self._breaking:
            if self.standing.is_ok:
                self.standing.changed(f"{violation} Restart this worker.", Status.PENDING)
                self._announce(self.state)

    def _advance(self, loader: Loader, environ: Mapping[str, str], demands: Demands) -> None:
        opened = loader.get()
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
        self._fail(crash.report.splitlines()[0])
        self._end(crash)

    def _fail(self, reason: str) -> None:
        # Whatever was measured before does not count: a worker that failed has no identity.
        self.standing.changed(reason)
        self._announce(self.state)
