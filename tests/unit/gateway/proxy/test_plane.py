"""What the data plane keeps of versions and instances when another snapshot comes into force."""

from __future__ import annotations

import asyncio

from contracts.verdict import Verdict, VerdictKind
from gateway.proxy.identity import Match, Stated
from gateway.proxy.plane import DataPlane, Destination
from gateway.proxy.said import nothing_said
from gateway.proxy.upstream import UpstreamConnection
from gateway.routing.snapshot import Snapshot, VersionView
from tests.support.data_plane import Gateway, Wire
from tests.support.fleets import fleet, served, together, worker

InstanceKey = tuple[str, str, str]


def model(model_id: str, *versions: str, **limits: int) -> Snapshot:
    """One model; each version has one instance."""
    return fleet(*(served(version, model_id=model_id, limits=limits) for version in versions), model_id=model_id)


def one_version(*names: str) -> Snapshot:
    """One model with one version that has these instances."""
    return fleet(
        served("v1.0.0", *(worker("v1.0.0", name, model_id="m") for name in names), model_id="m"), model_id="m"
    )


def views_of(snapshot: Snapshot) -> list[VersionView]:
    return [view for each in snapshot.models.values() for view in each.ranked]


def swapped(before: Snapshot, after: Snapshot, *models: str) -> tuple[DataPlane, dict[InstanceKey, Destination]]:
    """Put `after` in force where everything of `before` had requests; gives what was kept of it, too."""

    async def story() -> tuple[DataPlane, dict[InstanceKey, Destination]]:
        snapshots = iter([before, after])
        plane = Gateway().plane
        plane.snapshot = lambda: next(snapshots)
        plane.documents_changed(set(before.models))
        known = {
            instance.key: plane.destination(plane.traffic(view.key, view.contract), instance)
            for view in views_of(before)
            for instance in view.instances
        }
        for destination in known.values():
            destination.settled = Match(nothing_said(), Stated(), Verdict(VerdictKind.MATCH, "digest_equal"))
        plane.documents_changed(set(models))
        return plane, known

    return asyncio.run(story())


def asked(plane: DataPlane) -> list[InstanceKey]:
    """The instances of which something is kept."""
    return [(*key, url) for key, traffic in plane._traffic.items() for url in traffic.destinations]


def test_only_what_belongs_to_a_changed_model_is_let_go_or_looked_at_anew() -> None:
    other = model("n", "v1.0.0", "v2.0.0")
    plane, known = swapped(together(model("m", "v1.0.0", "v2.0.0"), other), together(model("m", "v1.0.0"), other), "m")

    kept = {("m", "v1.0.0"), ("n", "v1.0.0"), ("n", "v2.0.0")}
    assert set(plane._traffic) == kept
    assert {key[:2] for key in asked(plane)} == kept
    assert {key[:2] for key in asked(plane) if known[key].settled is None} == {("m", "v1.0.0")}


def test_a_model_that_left_takes_everything_with_it() -> None:
    plane, _ = swapped(together(model("m", "v1.0.0"), model("n", "v1.0.0")), model("n", "v1.0.0"), "m")

    assert set(plane._traffic) == {("n", "v1.0.0")}
    assert {key[0] for key in asked(plane)} == {"n"}


def test_an_instance_that_left_a_version_that_stays_is_let_go_alone() -> None:
    plane, _ = swapped(one_version("a", "b"), one_version("b"), "m")

    assert [key[2] for key in asked(plane)] == ["http://b:8000"]
    assert set(plane._traffic) == {("m", "v1.0.0")}


def test_a_second_try_is_counted_with_the_version_that_came_back_meanwhile() -> None:
    """A request outlives what was kept of its version; its next try must not be counted where nobody looks."""

    async def story() -> list[list[int]]:
        gateway, there = Gateway(), one_version("a", "b")
        plane, in_force, connections = gateway.plane, [there], dict[str, UpstreamConnection]()
        plane.snapshot = lambda: in_force[-1]
        (view,) = views_of(there)
        for instance in view.ready:
            pool = plane.destination(plane.traffic(view.key, view.contract), instance).pool
            connections[instance.id] = connection = UpstreamConnection(pool, plane.limits)
            connection.connection_made(Wire())
            pool.give_back(connection)
        client, _ = gateway.connect()
        client.data_received(b"GET /generate HTTP/1.1\r\nhost: gw\r\n\r\n")
        counted = [[plane.in_flight(instance) for instance in view.ready]]
        for snapshot in (Snapshot(), there):
            in_force.append(snapshot)
            plane.documents_changed({"m"})
        connections["b"].data_received(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")  # without a DNA: withheld
        counted.append([plane.in_flight(instance) for instance in view.ready])
        return counted

    assert asyncio.run(story()) == [[0, 1], [1, 0]]


def test_the_limits_of_bodies_are_those_of_all_models_whichever_changed() -> None:
    usual = Gateway().plane.limits.max_body
    small, large = model("m", "v1.0.0", max_body_bytes=1000), model("n", "v1.0.0", max_body_bytes=2 * usual)

    def limits(before: Snapshot, after: Snapshot, *models: str) -> tuple[int, int]:
        plane, _ = swapped(before, after, *models)
        return plane.least_max_body, plane.most_max_body

    assert limits(Snapshot(), model("m", "v1.0.0"), "m") == (usual, usual)
    assert limits(Snapshot(), small, "m") == (1000, usual)
    assert limits(small, together(small, large), "n") == (1000, 2 * usual)
    assert limits(together(small, large), large, "m") == (usual, 2 * usual)
