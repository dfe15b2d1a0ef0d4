"""How the sharing of verdicts goes, as status and metrics show it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SharingState:
    """What is known at one moment.

    Attributes:
        place: Where verdicts are shared, for people.
        member: This gateway's name among the members; None while it is alone.
        members: Names of all members, this one included; none while it is alone.
        problem: Why it is alone, in words; empty where it is not.
        instances: How many instances there are.
        probed: How many of them this gateway probes.
        doubted_elsewhere: How many are kept out by what others saw.
        told: How many sightings this gateway tells.
        left_out: How many more found no room in its bulletin.
        heard_seconds_ago: Since Consul last answered; None before the first time.
    """

    place: str
    member: str | None
    members: tuple[str, ...]
    problem: str
    instances: int
    probed: int
    doubted_elsewhere: int
    told: int
    left_out: int
    heard_seconds_ago: float | None
