"""The HAProxy of the machine: one thread, connections to the upstream shared between clients."""

from __future__ import annotations

from pathlib import Path

from bench.peers.peer import Launch, Peer, Site, on_path, said_version


def proxy_config(site: Site) -> str:
    """The whole configuration; events are sent on as they come, as a proxy of streams has to."""
    servers = "\n".join(f"  server w{index} {address}" for index, address in enumerate(site.addresses))
    return f"""
global
  nbthread 1
  maxconn 4096
defaults
  mode http
  timeout connect 1s
  timeout client 300s
  timeout server 300s
  option http-keep-alive
  option http-no-delay
  http-reuse always
frontend clients
  bind 127.0.0.1:{site.port}
  default_backend workers
backend workers
  balance roundrobin
{servers}
"""


def _launch(site: Site, program: Path) -> Launch:
    config = site.folder / "haproxy.cfg"
    config.write_text(proxy_config(site))
    return Launch([str(program), "-db", "-f", str(config)])


HAPROXY = Peer(
    name="haproxy",
    program=on_path("haproxy"),
    hint="install haproxy (Debian: apt install haproxy)",
    launch=_launch,
    version=said_version("-v", prefix="HAProxy version "),
)
