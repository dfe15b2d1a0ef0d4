"""How many instances of one version are what, counted as they change: no change looks at all its siblings."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gateway.control.standing import Head, Tracked, counts_for_caps
from gateway.health.liveness import DownBy, Liveness


@dataclass(slots=True)
class Census:
    """The counts of one version.

    Attributes:
        new: Never probed yet.
        ready: May get requests.
        eligible: Identity lets them answer.
        up: Of those, how many are up.
        outliers: Of those, how many are down as outliers.
    """

    new: int = 0
    ready: int = 0
    eligible: int = 0
    up: int = 0
    outliers: int = 0

    @classmethod
    def of(cls, ones: Iterable[Tracked]) -> Census:
        """Count these."""
        census = cls()
        for one in ones:
            census.add(one)
        return census

    def add(self, one: Tracked) -> None:
        """Count an instance in."""
        self._count(one, 1)

    def remove(self, one: Tracked) -> None:
        """Count an instance out, as it was counted in."""
        self._count(one, -1)

    def _count(self, one: Tracked, by: int) -> None:
        self.new += by * one.is_new
        self.ready += by * (one.instance.refusal is None)
        if counts_for_caps(one):
            self.eligible += by
            self.up += by * (one.liveness.liveness is Liveness.UP)
            self.outliers += by * (one.liveness.down_by is DownBy.OUTLIER)

    @property
    def head(self) -> Head:
        """What caps and panic look at."""
        return Head(self.eligible, self.up, self.outliers)

    @property
    def sign(self) -> tuple[bool, bool, bool]:
        """What the coverage of a version depends on: something answers, something is still new, outliers are used."""
        return (self.ready > 0, self.new > 0, self.head.panic)
