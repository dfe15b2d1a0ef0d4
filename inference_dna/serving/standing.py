"""What a worker may say of itself at this moment: loading, warming or ok, and the identity that was measured.

The state is one immutable value, swapped whole: whoever reads it never sees an old identity with a new status. From the
moment anything inside may have changed until it is measured again, the status is `loading` (dna.md section 6).
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from http import HTTPStatus
from types import MappingProxyType

from inference_dna.canonical import Json, Refused
from inference_dna.genome import Genome
from inference_dna.measure.healthz import Served, healthz_document, loading_document, stamps

NO_ACCELERATOR = "cpu"


class Status(StrEnum):
    """The stages of a start; only in the last one requests are answered. `pending`: it was ok and is measured anew."""

    LOADING = "loading"
    PENDING = "pending"
    WARMING = "warming"
    OK = "ok"


@dataclass(frozen=True, slots=True)
class State:
    """One moment. `genome` is None while nothing is measured; `boot_id` is 32 random hex.

    `notes` are members that `/healthz` shows at its end; nothing depends on them.
    """

    status: Status
    reason: str
    boot_id: str
    genome: Genome | None = None
    notes: Mapping[str, Json] = field(default_factory=lambda: MappingProxyType({}))


class Standing:
    """The standing of one worker process. One thread changes it, any number read it.

    Args:
        served: What the worker is called.
        clock: Seconds that never go back; uptime is counted from the first call.
        new_boot_id: Makes 32 random hex.
    """

    def __init__(
        self,
        served: Served,
        *,
        clock: Callable[[], float] = time.monotonic,  # noqa: TID251 - the worker's own clock, to be replaced in tests
        new_boot_id: Callable[[], str] = lambda: secrets.token_hex(16),
    ) -> None:
        self.served = served
        self._clock, self._new_boot_id = clock, new_boot_id
        self._started_at = clock()
        self._state = State(Status.LOADING, "Nothing is measured yet.", new_boot_id())

    @property
    def state(self) -> State:
        """The state of this moment."""
        return self._state

    @property
    def is_ok(self) -> bool:
        """Say whether requests may be answered."""
        return self._state.status is Status.OK

    def warming(self) -> None:
        """The model is loaded and computes for the first time; what it answers is dropped."""
        self._state = replace(self._state, status=Status.WARMING, reason="The model is being warmed up.")

    def measured(self, genome: Genome, **notes: Json) -> None:
        """Take what was measured; requests are answered only when `ready` is said.

        Args:
            genome: All five sections.
            notes: Members of one's own for `/healthz`, shown while the worker is `ok`.
        """
        reason, kept = "The worker was measured.", MappingProxyType(notes)
        self._state = replace(self._state, status=Status.WARMING, reason=reason, genome=genome, notes=kept)

    def ready(self) -> None:
        """Begin to answer.

        Raises:
            Refused: Nothing is measured.
        """
        if self._state.genome is None:
            raise Refused("A worker that is not measured cannot be ready.")
        self._state = replace(self._state, status=Status.OK, reason="")

    def changed(self, reason: str, status: Status = Status.LOADING) -> None:
        """Something inside may have changed: weights or an adapter were loaded, settings read again.

        Args:
            reason: A sentence that says what.
            status: What it is until it is measured again.
        """
        self._state = State(status, reason, self._new_boot_id())

    def named(self, reason: str) -> None:
        """Say anew why requests are not answered; nothing else changes."""
        self._state = replace(self._state, reason=reason)

    def headers(self, input_hash: str = "") -> list[tuple[str, str]]:
        """Write the headers of one answer; none while nothing is measured.

        Args:
            input_hash: 64 bare hex, or the empty text where no input was hashed.

        Raises:
            Refused: The input hash is anything else.
        """
        genome = self._state.genome
        return [] if genome is None else stamps(genome.digests, self.served, input_hash=input_hash)

    def health(self) -> tuple[HTTPStatus, dict[str, Json]]:
        """Write the answer of `/healthz`: its HTTP status and its body."""
        state, uptime = self._state, int(self._clock() - self._started_at)
        if state.status is Status.OK and state.genome is not None:
            document = healthz_document(state.genome, self.served, boot_id=state.boot_id, uptime_seconds=uptime)
            return HTTPStatus.OK, {**document, **state.notes}
        document = loading_document(self.served, boot_id=state.boot_id, uptime_seconds=uptime, reason=state.reason)
        return HTTPStatus.SERVICE_UNAVAILABLE, {**document, "status": state.status.value}

    @property
    def gpu_name(self) -> str:
        """Names of the accelerators, `cpu` where there is none, `unknown` while nothing is measured."""
        genome = self._state.genome
        return "unknown" if genome is None else gpu_name(genome.sections["hardware"])


def gpu_name(hardware: Mapping[str, Json]) -> str:
    """Name the accelerators of a hardware section, each kind once, in its order; `cpu` where there is none."""
    devices = hardware["accelerators"]
    listed = devices if isinstance(devices, list | tuple) else ()
    names = [str(device.get("name")) for device in listed if isinstance(device, Mapping)]
    return ", ".join(dict.fromkeys(names)) or NO_ACCELERATOR
