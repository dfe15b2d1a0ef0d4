"""From a folder to a worker that answers: loading, warming, ok. The state is one value, swapped whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from inference_dna.canonical import Refused
from inference_dna.genome import Genome
from inference_dna.probe import PROBE_TEXTS
from worker.bundle import BundleRefused, read_bundle
from worker.engine import Engine, load_engine
from worker.measurement import measure


class Status(StrEnum):
    """The stages of a start; only in the last one requests are answered."""

    LOADING = "loading"
    WARMING = "warming"
    OK = "ok"


@dataclass(frozen=True, slots=True)
class Loaded:
    """An engine and what was measured of it. They belong together for the life of the process."""

    engine: Engine
    genome: Genome


@dataclass(frozen=True, slots=True)
class State:
    """Where the worker is, and why it is not further. `loaded` is None until everything was measured."""

    status: Status
    reason: str
    loaded: Loaded | None = None


class Lifecycle:
    """Holds the state of one process. `load` runs once, in a thread of its own; everybody else reads.

    Args:
        announce: Is told every state but the first, in the thread that loads.
    """

    def __init__(self, announce: Callable[[State], None] = lambda _state: None) -> None:
        self._state = State(Status.LOADING, "The bundle is being read.")
        self._announce = announce

    @property
    def state(self) -> State:
        """The state of this moment."""
        return self._state

    def load(self, root: Path, environ: Mapping[str, str]) -> None:
        """Read, load, measure and warm up. A failure is a state with a reason (provenance.md section 1, rule 6).

        Args:
            root: The bundle.
            environ: The environment of this process.
        """
        try:
            self._advance(root, environ)
        except (BundleRefused, Refused) as error:
            self._fail(str(error))
        except Exception as error:
            self._fail(f"Loading ended in an unexpected {type(error).__name__}; the log has it.")
            raise

    def _advance(self, root: Path, environ: Mapping[str, str]) -> None:
        bundle = read_bundle(root)
        engine = load_engine(bundle)
        loaded = Loaded(engine, measure(bundle, engine, environ))
        self._enter(State(Status.WARMING, "The model is being warmed up.", loaded))
        # First calls allocate; no client shall wait for that.
        for text in PROBE_TEXTS:
            engine.infer(text)
        self._enter(State(Status.OK, "", loaded))

    def _fail(self, reason: str) -> None:
        # Whatever was measured before does not count: a worker that failed has no identity.
        self._enter(State(Status.LOADING, reason))

    def _enter(self, state: State) -> None:
        self._state = state
        self._announce(state)
