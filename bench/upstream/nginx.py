"""The unary upstream: one nginx process that answers every POST with the same bytes and the headers of a worker.

Base paths let one listener stand for a fleet: `/w/7/...` is the worker of the model `bench-7`, `/w/7/i/3/...` one of
several workers of that model.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from bench import identity
from bench.ask import ask
from bench.processes import Running, StartError, free_port, free_ports
from bench.work import ANSWER_BYTES, MODEL, answer_body

START_S = 10.0
_COUNTS = "/counts"
_FLEET_MODEL = f"{MODEL}-$1"


class NginxUpstream:
    """`with NginxUpstream(folder, cores=...) as upstream:`; `urls` are its listeners, all of one process.

    Raises:
        StartError: There is no nginx, or it does not answer.
    """

    def __init__(self, folder: Path, *, cores: Sequence[int], listeners: int = 2) -> None:
        program = shutil.which("nginx")
        if program is None:
            raise StartError("nginx is not here; install it (Debian: apt install nginx)")
        self.ports = free_ports(listeners)
        config = folder / "upstream.conf"
        config.write_text(upstream_config(self.ports, folder))
        command = [program, "-p", str(folder), "-e", "stderr", "-c", str(config)]
        self._running = Running(command, cores=cores, log=folder / "upstream.log")

    def __enter__(self) -> Self:
        try:
            self._running.wait_until(self._answers, what="the upstream", timeout_s=START_S)
        except BaseException:
            self._running.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._running.stop()

    @property
    def urls(self) -> tuple[str, ...]:
        """Base URLs."""
        return tuple(f"http://127.0.0.1:{port}" for port in self.ports)

    @property
    def port(self) -> int:
        """The first of its ports."""
        return self.ports[0]

    @property
    def pids(self) -> tuple[int, ...]:
        """Its processes."""
        return self._running.family

    def accepted(self) -> int:
        """Connections accepted so far, that of this question included."""
        return accepted_of(ask(self.port, _COUNTS, method="GET").body.decode())

    def _answers(self) -> bool:
        return all(len(ask(port).body) == ANSWER_BYTES for port in self.ports)


def accepted_of(counts: str) -> int:
    """Read the connections accepted out of what `stub_status` says: the first of three numbers in its third line."""
    return int(counts.splitlines()[2].split()[0])


def upstream_config(ports: Sequence[int], folder: Path) -> str:
    """The whole nginx configuration. Temporary paths lie in `folder`, so that any user can run it."""
    listens = "\n".join(f"    listen 127.0.0.1:{port} backlog=2048;" for port in ports)
    return f"""
{nginx_preamble(folder)}
http {{
{nginx_http_common(folder)}
  server {{
{listens}
    location = /healthz {{ {_returning(identity.healthz_headers(), identity.healthz_body())} }}
    location ~ ^/w/(\\d+)/(?:i/\\d+/)?healthz$ {{
      {_returning(identity.healthz_headers(_FLEET_MODEL), identity.healthz_body(_FLEET_MODEL))}
    }}
    location ~ ^/w/(\\d+)/ {{ {_returning(identity.answer_headers(_FLEET_MODEL), answer_body().decode())} }}
    location = {_COUNTS} {{ stub_status; }}
    # What the inference routers ask a worker before they send it anything.
    location = /health {{ return 200; }}
    location ~ ^/(v1/models|get_model_info|get_server_info|server_info|model_info)$ {{
      {_returning({}, models_body())}
    }}
    location / {{ {_returning(identity.answer_headers(), answer_body().decode())} }}
  }}
}}
"""


def nginx_preamble(folder: Path) -> str:
    """One process that does the work, in the foreground, nothing outside `folder`."""
    return f"""daemon off;
worker_processes 1;
worker_rlimit_nofile 65536;
pid {folder}/nginx-{free_port()}.pid;
error_log stderr error;
events {{ worker_connections 16384; }}"""


def nginx_http_common(folder: Path) -> str:
    """Connections are kept for good: neither side may count a reconnect."""
    temporary = "\n".join(
        f"  {name}_temp_path {folder}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    return f"""{temporary}
  access_log off;
  keepalive_requests 1000000000;
  keepalive_timeout 300s;
  default_type application/json;"""


def models_body() -> str:
    """What satisfies the routers' questions about the worker's model."""
    return (
        f'{{"object":"list","data":[{{"id":"{MODEL}","object":"model","owned_by":"bench"}}],'
        f'"model_path":"{MODEL}","served_model_name":"{MODEL}"}}'
    )


def _returning(headers: Mapping[str, str], body: str) -> str:
    stamps = " ".join(f'add_header {name} "{value}";' for name, value in headers.items())
    return f"{stamps} return 200 '{body}';"
