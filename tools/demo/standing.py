"""What the gateway thinks of each instance, read from its `/status`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tools.demo.waiting import NotYet
from tools.demo.worker import Worker

VERIFIED, EJECTED, UP = "verified", "ejected", "up"


@dataclass(frozen=True, slots=True)
class Standing:
    """One instance as the gateway sees it; texts are empty where it knows nothing."""

    url: str
    version: str
    identity: str
    liveness: str
    dna: str
    cause: str
    """Why it gets no request; empty where it does."""

    @property
    def may_answer(self) -> bool:
        """Whether it gets requests."""
        return (self.identity, self.liveness) == (VERIFIED, UP)


def standings(status: Mapping[str, Any]) -> list[Standing]:
    """Read the instances of a status document."""
    return [
        Standing(
            url=instance["url"],
            version=instance["version"],
            identity=instance["identity"],
            liveness=instance["liveness"],
            dna=instance["dna"] or "",
            cause=instance["reason"].partition(": ")[2],  # the state itself stands in front
        )
        for instance in status["instances"]
    ]


def check_plan(seen: Sequence[Standing], workers: Sequence[Worker]) -> None:
    """Check that every honest worker may answer and every other one is ejected.

    Raises:
        NotYet: Some are not judged so; the message names them.
    """
    by_url = {standing.url: standing for standing in seen}
    open_cases = [text for worker in workers if (text := _open_case(worker, by_url.get(worker.url)))]
    if open_cases:
        raise NotYet("; ".join(open_cases))


def _open_case(worker: Worker, standing: Standing | None) -> str:
    name = worker.member.name
    if standing is None:
        return f"{name} is not known to the gateway"
    if standing.may_answer if worker.member.is_honest else standing.identity == EJECTED:
        return ""
    return f"{name} is {standing.identity} and {standing.liveness} ({standing.cause})"
