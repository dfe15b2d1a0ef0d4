"""Whether a gateway is done: nothing in flight, by every gauge it shows, and nobody the worse for it."""

from __future__ import annotations

from tests.support.gateway_process import GatewayProcess


def in_flight(gateway: GatewayProcess) -> dict[str, float]:
    """All in-flight gauges of `/metrics` and `/status`, by where they stand."""
    gauges = {f"/status {entry['id']}": float(entry["in_flight"]) for entry in gateway.status()["instances"]}
    for line in str(gateway.admin("/metrics")[1]).splitlines():
        if line.startswith("gateway_requests_in_flight{"):
            name, _, value = line.rpartition(" ")
            gauges[f"/metrics {name}"] = float(value)
    return gauges


def wait_at_rest(gateway: GatewayProcess, *, timeout_s: float = 10.0) -> None:
    """Wait until every in-flight gauge is 0; the gauges of both pages must be there."""
    gateway.wait_for(
        lambda: not any(in_flight(gateway).values()), what="all in-flight gauges to be 0", timeout_s=timeout_s
    )
    pages = {name.split(" ")[0] for name in in_flight(gateway)}
    assert pages == {"/status", "/metrics"}


def standing(gateway: GatewayProcess) -> dict[str, tuple[str, str]]:
    """Identity and liveness of every instance."""
    return {name: (entry["identity"], entry["liveness"]) for name, entry in gateway.instances().items()}
