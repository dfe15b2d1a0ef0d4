"""A network that can be cut without a word: a router between this machine and a namespace drops what it should pass on.

Neither side is told anything: no link goes down, nothing is reset, nothing is reported as unreachable. Needs root, and
a kernel with network namespaces and veth pairs.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

import pytest


@dataclass(frozen=True)
class CutNetwork:
    """Two links with a router between them.

    Attributes:
        here: Address of this machine on it.
        there: Address of the other end.
        namespace: Name of the network namespace of the other end.
    """

    here: str
    there: str
    namespace: str
    router: str

    def cut(self) -> None:
        """Drop every packet, both ways, from now on."""
        for address in (self.here, self.there):
            _ip("-n", self.router, "route", "add", "blackhole", f"{address}/32")

    def heal(self) -> None:
        """Pass packets on again."""
        for address in (self.here, self.there):
            _ip("-n", self.router, "route", "del", "blackhole", f"{address}/32")


@contextlib.contextmanager
def cut_network() -> Iterator[CutNetwork]:
    """Make one for the block; skips the test where this machine has no such thing."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("needs root and the program ip, to make network namespaces")
    mark = os.getpid() % 250
    name = f"dna{os.getpid()}"
    network = CutNetwork(f"198.18.{mark}.1", f"198.18.{mark}.6", f"{name}far", f"{name}mid")
    try:
        _build(network, name)
        yield network
    finally:
        for namespace in (network.router, network.namespace):  # their links vanish with them
            subprocess.run(["ip", "netns", "del", namespace], capture_output=True, check=False)


def _build(network: CutNetwork, name: str) -> None:
    """Lay the links. 198.18.0.0/15 is set aside for tests of networks (RFC 2544, appendix C.2.2)."""
    near, far = (f"{network.here.rpartition('.')[0]}.{last}" for last in (2, 5))
    router, beyond = network.router, network.namespace
    try:
        _ip("netns", "add", router)
        _ip("netns", "add", beyond)
        _ip("link", "add", f"{name}a", "type", "veth", "peer", "name", "near", "netns", router)
        _ip("-n", router, "link", "add", "far", "type", "veth", "peer", "name", "home", "netns", beyond)
    except subprocess.CalledProcessError as error:
        pytest.skip(f"network namespaces cannot be made here: {error.stderr.decode(errors='replace').strip()}")
    for place, link, address in (
        ((), f"{name}a", network.here),
        (("-n", router), "near", near),
        (("-n", router), "far", far),
        (("-n", beyond), "home", network.there),
    ):
        _ip(*place, "address", "add", f"{address}/30", "dev", link)
        _ip(*place, "link", "set", link, "up")
    _ip("-n", beyond, "link", "set", "lo", "up")
    _ip("route", "add", f"{network.there}/32", "via", near)
    _ip("-n", beyond, "route", "add", "default", "via", far)
    _ip("netns", "exec", router, "sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward")


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, timeout=10)
