"""The outcomes of routing: what was chosen and why, or why nothing was.

The same values feed the answer's stamps, the log, the body of an error and `/explain`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from contracts.version import Version
from gateway.routing.snapshot import Instance, ModelView, VersionView

NOTHING_ASKED = "default"
"""What stands for the selector where a request sent none."""


class Reason(StrEnum):
    """What decided the version."""

    EXACT = "exact"
    RANGE = "range"
    DEFAULT = "default"
    CANARY = "canary"
    DNA = "dna"


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why one candidate was passed over; `reason` begins with the step of routing.md section 1 that said no."""

    version: str
    instance: str
    reason: str


@dataclass(frozen=True, slots=True)
class Resolution:
    """The version a request is pinned to: attempts, waiting and streams stay inside it."""

    model: ModelView
    view: VersionView
    requested: str
    """The selector as sent, or `default`."""
    reason: Reason
    dna_prefix: str | None
    """Hard filter for every pick: the client's prefix, or the canary rule's."""
    canary_returned: Version | None
    """The canary that owned this request's share and had no instance for it."""
    generation: int


@dataclass(frozen=True, slots=True)
class NotRouted:
    """Why a request goes nowhere (clients.md section 4)."""

    status: int
    code: str
    detail: str
    """One sentence for a person: what is wrong and what to do."""
    rejected: tuple[Rejection, ...] = ()
    available: tuple[str, ...] = ()
    """What can be asked for instead: versions, aliases or models."""
    successor: Version | None = None
    model_id: str | None = None
    version: Version | None = None
    """The version it was pinned to, where one could be named."""
    requested: str = NOTHING_ASKED
    reason: Reason | None = None
    back_at: float | None = None
    """Monotonic second at which the first candidate may be ready again, where that is known."""
    canary_returned: Version | None = None
    """As in `Resolution`: the default had no instance either."""


@dataclass(frozen=True, slots=True)
class NoInstance:
    """Why no instance of a version can take a request now."""

    status: int
    code: str
    rejected: tuple[Rejection, ...]
    back_at: float | None


@dataclass(frozen=True, slots=True)
class Decision:
    """Version and instance of a request, with the reason for every candidate that was passed over."""

    resolution: Resolution
    instance: Instance
    rejected: tuple[Rejection, ...]

    @property
    def version(self) -> Version:
        """The version that answers."""
        return self.instance.version
