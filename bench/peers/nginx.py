"""The nginx of the machine: one worker process, kept connections to the upstream."""

from __future__ import annotations

from pathlib import Path

from bench.peers.peer import Launch, Peer, Site, on_path, said_version
from bench.upstream.nginx import nginx_http_common, nginx_preamble


def proxy_config(site: Site) -> str:
    """The whole configuration; answers are passed on as they come, as a proxy of streams has to."""
    servers = "\n".join(f"    server {address};" for address in site.addresses)
    return f"""
{nginx_preamble(site.folder)}
http {{
{nginx_http_common(site.folder)}
  upstream workers {{
{servers}
    keepalive 512;
    keepalive_requests 1000000000;
  }}
  server {{
    listen 127.0.0.1:{site.port} backlog=2048;
    location / {{
      proxy_pass http://workers;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
      proxy_read_timeout 300s;
    }}
  }}
}}
"""


def _launch(site: Site, program: Path) -> Launch:
    config = site.folder / "nginx.conf"
    config.write_text(proxy_config(site))
    return Launch([str(program), "-p", str(site.folder), "-e", "stderr", "-c", str(config)])


NGINX = Peer(
    name="nginx",
    program=on_path("nginx"),
    hint="install nginx (Debian: apt install nginx)",
    launch=_launch,
    version=said_version("-v", prefix="nginx/"),
)
