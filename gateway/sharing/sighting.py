"""What one gateway saw of one instance, as it tells the others.

What is told is the observation; whoever reads it judges it by a contract of its own. The word of the teller can take an
instance out sooner; it never lets one in.
"""

from __future__ import annotations

from typing import Any

import msgspec

from gateway.health.identity import Identity
from inference_dna.observation import Observation

SubjectKey = tuple[str, str, str]
"""Model id, printed version, base URL."""


class Sighting(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """One instance as one gateway saw it.

    Attributes:
        model_id: The model whose instance it is.
        version: The version, printed with `v`.
        url: The base URL.
        serial: Grows with every sighting of one gateway, so that each is taken in once.
        identity: What the teller holds of the instance since.
        http: Status of the answer.
        stated_model: The model that the instance named.
        stated_version: The version that it named.

    The others are those of `Observation`.
    """

    model_id: str
    version: str
    url: str
    serial: int
    identity: Identity
    http: int
    stated_model: str | None = None
    stated_version: str | None = None
    status: str | None = None
    format: str | None = None
    dna: str | None = None
    digest: str | None = None
    input_hash: str | None = None
    assurance: str | None = None
    dna_required: bool = True
    hardware: dict[str, Any] | None = None
    boot_id: str | None = None

    @property
    def key(self) -> SubjectKey:
        """The instance's key."""
        return (self.model_id, self.version, self.url)

    @property
    def doubts(self) -> bool:
        """Say whether the teller holds the instance for anything but verified."""
        return self.identity is not Identity.VERIFIED

    @property
    def observation(self) -> Observation:
        """What was seen, to be judged again."""
        return Observation(
            self.http,
            self.status,
            self.format,
            self.dna,
            self.digest,
            self.input_hash,
            self.stated_model,
            self.stated_version,
            self.assurance,
            self.dna_required,
            self.hardware,
            self.boot_id,
        )


def sighting_of(key: SubjectKey, seen: Observation, identity: Identity, *, serial: int) -> Sighting:
    """Tell an observation.

    Raises:
        ValueError: No answer came, so there is nothing to tell.
    """
    if seen.http is None:
        raise ValueError("no answer says nothing of identity and is not told")
    return Sighting(
        *key,
        serial,
        identity,
        seen.http,
        seen.model_id,
        seen.version,
        seen.status,
        seen.format,
        seen.dna,
        seen.digest,
        seen.input_hash,
        seen.assurance,
        seen.dna_required,
        None if seen.hardware is None else dict(seen.hardware),
        seen.boot_id,
    )
