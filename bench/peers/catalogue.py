"""All proxies, in the order of the tables, and which of them are here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bench.peers.envoy import ENVOY
from bench.peers.gateway import GATEWAY
from bench.peers.haproxy import HAPROXY
from bench.peers.litellm import LITELLM
from bench.peers.nginx import NGINX
from bench.peers.peer import Peer
from bench.peers.routers import SGLANG_ROUTER, VLLM_ROUTER

PEERS: Sequence[Peer] = (GATEWAY, NGINX, HAPROXY, ENVOY, VLLM_ROUTER, SGLANG_ROUTER, LITELLM)


class UnknownPeer(ValueError):
    """A name that no proxy has; the message lists the names there are."""


def chosen(names: Sequence[str]) -> Sequence[Peer]:
    """The proxies with these names, in the order of the tables; no names mean all.

    Raises:
        UnknownPeer: One of the names is nobody's.
    """
    known = [peer.name for peer in PEERS]
    for name in names:
        if name not in known:
            raise UnknownPeer(f"no proxy is called {name!r}; there are: {', '.join(known)}")
    return [peer for peer in PEERS if not names or peer.name in names]


def missing(peers: Sequence[Peer]) -> Mapping[str, str]:
    """Those that are not here, each with how to get it."""
    return {peer.name: f"not found; {peer.hint}" for peer in peers if peer.program() is None}
