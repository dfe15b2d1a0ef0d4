"""The fleets that are measured beside each other: sizes on two axes.

`contracts`: so many models with one instance each; requests name a hundred of them in turn, so that the size of the
snapshot grows and the set of warm connections does not. `instances`: one model with so many instances; every one of
them gets requests, so here the connections grow too. All instances are base paths of one listener.

Beside them stands HAProxy over as many servers. It knows nothing of models and never looks at a whole fleet either:
what it loses is what more sockets cost on this machine. Its servers are ports, of which there cannot be ten thousand.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from bench.peers.gateway import PROBE_INTERVAL_S
from bench.work import MODEL

AXES = ("contracts", "instances")
REFERENCE = "haproxy servers"
REFERENCE_MOST = 1_000
ASKED = 100
"""Models that requests name, of however many there are."""


@dataclass(frozen=True, slots=True)
class Fleet:
    """So many (`size`) of what `axis` says, one of `AXES` or `REFERENCE`.

    One contract and one instance are the same fleet under two names.
    """

    axis: str
    size: int

    @property
    def name(self) -> str:
        """What it is called in tables."""
        return f"{self.size:,} {self.axis}" if self.size != 1 else f"1 {self.axis.removesuffix('s')}"

    @property
    def is_ours(self) -> bool:
        """Whether our gateway serves it, and not HAProxy."""
        return self.axis != REFERENCE

    @property
    def models(self) -> list[str]:
        """The models that requests name."""
        if self.axis != "contracts":
            return [f"{MODEL}-0"]
        step = max(self.size // ASKED, 1)
        return [f"{MODEL}-{number}" for number in range(0, self.size, step)][:ASKED]

    @property
    def probe_interval_s(self) -> float:
        """The gateway's default for one instance, and longer for more: probing costs the same at every size.

        0 where nobody probes.
        """
        return PROBE_INTERVAL_S * self.size if self.is_ours else 0.0

    def documents(self, url: str) -> list[tuple[str, list[str]]]:
        """Model ids with their instances' base URLs below this one."""
        if self.axis == "instances":
            return [(f"{MODEL}-0", [f"{url}/w/0/i/{number}" for number in range(self.size)])]
        return [(f"{MODEL}-{number}", [f"{url}/w/{number}"]) for number in range(self.size)]


def fleets(sizes: Iterable[int]) -> list[Fleet]:
    """Every size on both axes, each axis from the smallest on, then the reference as far as it goes."""
    ordered = sorted(set(sizes))
    ours = [Fleet(axis, size) for axis in AXES for size in ordered]
    return [*ours, *(Fleet(REFERENCE, size) for size in ordered if size <= REFERENCE_MOST)]
