"""Real Consul servers for tests: a development agent, or a cluster, on localhost and ports of its own."""

from __future__ import annotations

import base64
import contextlib
import json
import random
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from tests.support.consul_program import consul_or_skip

HOST = "127.0.0.1"
MASTER = "3f1d4d0a-0c0d-4b6e-9d3c-6f0b6c1b2a11"
"""The token that may do everything, where rights are switched on."""
START_S = 30.0
_PORTS = range(20_000, 32_000, 4)  # below the range the kernel takes for outgoing connections: a restart finds its own


@dataclass(frozen=True)
class Ports:
    """Where one agent listens."""

    http: int
    server: int
    serf_lan: int

    @classmethod
    def free(cls) -> Ports:
        """Draw ports that nobody listens on."""
        while True:
            first = random.choice(_PORTS)
            if all(_is_free(port) for port in range(first, first + 3)):
                return cls(first, first + 1, first + 2)


@dataclass
class ConsulAgent:
    """One `consul agent` and a client of it; `start` it, and `end` it at the last.

    Attributes:
        folder: For its configuration, data and log.
        name: Name of its node.
        servers: How many servers the cluster has; None: a development agent, which keeps nothing when it ends.
        join: Addresses of others to join.
        acl: Rights are on: nothing may be done without a token.
        config: Further configuration.
        host: Where it listens.
        namespace: Network namespace it runs in; empty: that of the tests.
        token: Goes with every call of the client; `MASTER` where rights are on.
    """

    folder: Path
    name: str = "node"
    servers: int | None = None
    join: list[str] = field(default_factory=list)
    acl: bool = False
    config: Mapping[str, Any] = field(default_factory=dict)
    ports: Ports = field(default_factory=Ports.free)
    host: str = HOST
    namespace: str = ""
    process: subprocess.Popen[bytes] | None = None
    paused: bool = False

    def __post_init__(self) -> None:
        self.token = MASTER if self.acl else ""
        headers = {"X-Consul-Token": self.token} if self.acl else {}
        self.client = httpx.Client(base_url=self.url, headers=headers, trust_env=False, timeout=5)

    @property
    def address(self) -> str:
        """`HOST:PORT` of its HTTP API."""
        return f"{self.host}:{self.ports.http}"

    @property
    def url(self) -> str:
        return f"http://{self.address}"

    # its life --------------------------------------------------------------------------------------------------------

    def start(self, *, wait: bool = True) -> None:
        """Start it, on the same ports as before."""
        file = self.folder / f"{self.name}.json"
        file.write_text(json.dumps(self._configuration()), encoding="utf-8")
        inside = ["ip", "netns", "exec", self.namespace] if self.namespace else []
        command = [
            *inside,
            str(consul_or_skip()),
            "agent",
            f"-config-file={file}",
            *(() if self.servers else ("-dev",)),
        ]
        with (self.folder / f"{self.name}.log").open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        if wait:
            self.wait_ready()

    def wait_ready(self) -> None:
        """Wait until a PUT succeeds: an open port says nothing yet."""
        self.until(self._takes_writes, what="take a write")

    def stop(self) -> None:
        """End it; a development agent loses what it held."""
        if self.process is not None:
            self.resume()
            self.process.kill()
            self.process.wait()
            self.process = None

    def restart(self) -> None:
        self.stop()
        self.start()

    def pause(self) -> None:
        """Freeze it: its sockets stay open and nothing answers."""
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)
        self.paused = True

    def resume(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)
        self.paused = False

    def end(self) -> None:
        self.client.close()
        self.stop()

    def log(self) -> str:
        return (self.folder / f"{self.name}.log").read_text("utf-8", "replace")

    def until(self, condition: Callable[[], bool], *, what: str, timeout_s: float = START_S) -> None:
        """Ask until it holds."""
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            if self.process is not None and self.process.poll() is not None:
                raise AssertionError(f"consul ended:\n{self.log()[-3000:]}")
            with contextlib.suppress(httpx.HTTPError):
                if condition():
                    return
            time.sleep(0.05)
        raise AssertionError(f"consul did not {what} in {timeout_s} s:\n{self.log()[-3000:]}")

    # keys ------------------------------------------------------------------------------------------------------------

    def put(self, key: str, value: str | bytes | Mapping[str, Any], **params: str | int) -> bool:
        """Write a key: text as it is, a mapping as JSON; `cas=N` where it must not have changed."""
        content = json.dumps(value) if isinstance(value, Mapping) else value
        done: bool = self._asked("PUT", f"/v1/kv/{key}", params=params, content=content).json()
        return done

    def put_all(self, values: Mapping[str, str | bytes | Mapping[str, Any]]) -> None:
        """Write many keys, 64 to a transaction, as many as 1.8 takes."""
        items = list(values.items())
        for start in range(0, len(items), 64):
            self._asked("PUT", "/v1/txn", json=[_set(key, value) for key, value in items[start : start + 64]])

    def get(self, key: str) -> bytes | None:
        """The value of a key; None where there is none."""
        reply = self.client.get(f"/v1/kv/{key}", params={"raw": "1"})
        return None if reply.status_code == httpx.codes.NOT_FOUND else reply.raise_for_status().content

    def entry(self, key: str) -> dict[str, Any]:
        """A key with its `ModifyIndex` and the rest."""
        found: dict[str, Any] = self._asked("GET", f"/v1/kv/{key}").json()[0]
        return found

    def delete(self, key: str, *, recurse: bool = False) -> None:
        self._asked("DELETE", f"/v1/kv/{key}", params={"recurse": "1"} if recurse else {})

    # services and sessions -------------------------------------------------------------------------------------------

    def register(self, service: Mapping[str, Any]) -> None:
        """Register a service with this agent: `Name`, `ID`, `Address`, `Port`, `Meta`, `Weights`, `Check`."""
        self._asked("PUT", "/v1/agent/service/register", json=dict(service))

    def deregister(self, service_id: str) -> None:
        self._asked("PUT", f"/v1/agent/service/deregister/{service_id}")

    def maintain(self, service_id: str, *, enable: bool, reason: str = "") -> None:
        """Switch maintenance of a service on or off."""
        params = {"enable": str(enable).lower(), "reason": reason}
        self._asked("PUT", f"/v1/agent/service/maintenance/{service_id}", params=params)

    def health(self, service: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._asked("GET", f"/v1/health/service/{service}").json()
        return found

    # snapshots and rights --------------------------------------------------------------------------------------------

    def snapshot(self) -> bytes:
        return self._asked("GET", "/v1/snapshot").content

    def restore(self, snapshot: bytes) -> None:
        self._asked("PUT", "/v1/snapshot", content=snapshot)

    def new_policy(self, name: str, rules: str) -> str:
        """Make a policy; gives its id, by which `change_policy` finds it."""
        made: str = self._asked("PUT", "/v1/acl/policy", json={"Name": name, "Rules": rules}).json()["ID"]
        return made

    def change_policy(self, policy_id: str, name: str, rules: str) -> None:
        self._asked("PUT", f"/v1/acl/policy/{policy_id}", json={"ID": policy_id, "Name": name, "Rules": rules})

    def new_token(self, *policies: str) -> tuple[str, str]:
        """Make a token of these policies; gives its accessor and its secret."""
        made = self._asked("PUT", "/v1/acl/token", json={"Policies": [{"Name": name} for name in policies]}).json()
        return made["AccessorID"], made["SecretID"]

    def revoke(self, accessor: str) -> None:
        self._asked("DELETE", f"/v1/acl/token/{accessor}")

    def leader(self) -> str:
        """Address of the leader as this server sees it; empty where there is none."""
        seen: str = self._asked("GET", "/v1/status/leader").json()
        return seen

    # inside ----------------------------------------------------------------------------------------------------------

    def _asked(self, method: str, path: str, **kwargs: Any) -> httpx.Response:
        reply = self.client.request(method, path, **kwargs)
        if reply.is_error:
            raise httpx.HTTPStatusError(f"{reply.status_code} {reply.text}", request=reply.request, response=reply)
        return reply

    def _takes_writes(self) -> bool:
        self.put("started", self.name)
        self.delete("started")
        return True

    def _configuration(self) -> dict[str, Any]:
        configuration: dict[str, Any] = {
            "bind_addr": self.host,
            "client_addr": self.host,
            "node_name": self.name,
            "disable_update_check": True,
            "log_level": "WARN",
            "performance": {"raft_multiplier": 1},
            "ports": {
                "http": self.ports.http,
                "server": self.ports.server,
                "serf_lan": self.ports.serf_lan,
                "serf_wan": -1,
                "dns": -1,
                "grpc": -1,
            },
        }
        if self.servers:
            data = str(self.folder / f"{self.name}.data")
            configuration |= {"server": True, "bootstrap_expect": self.servers, "data_dir": data}
            configuration |= {"retry_join": self.join, "retry_interval": "1s"}
        if self.acl:
            configuration["acl"] = {"enabled": True, "default_policy": "deny", "tokens": {"master": MASTER}}
        return _merged(configuration, self.config)


@dataclass
class ConsulCluster:
    """Servers that elect a leader among them; in `agents` as they were started."""

    agents: list[ConsulAgent]

    def up(self) -> list[ConsulAgent]:
        """The agents that run and are not frozen."""
        return [agent for agent in self.agents if agent.process is not None and not agent.paused]

    def leader(self) -> ConsulAgent:
        """The agent that leads; waits until all that are up agree on one of them."""
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline:
            with contextlib.suppress(httpx.HTTPError):
                seen = {agent.leader() for agent in self.up()}
                for agent in self.up():
                    if seen == {f"{HOST}:{agent.ports.server}"}:
                        return agent
            time.sleep(0.05)
        raise AssertionError("the servers agreed on no leader")

    def followers(self) -> list[ConsulAgent]:
        leader = self.leader()
        return [agent for agent in self.up() if agent is not leader]


@contextmanager
def running_consul(*, acl: bool = False, servers: int | None = None, **config: Any) -> Iterator[ConsulAgent]:
    """Run a development agent (or one server that keeps its data: `servers=1`) for the block."""
    with tempfile.TemporaryDirectory(prefix="consul-") as folder:
        agent = ConsulAgent(Path(folder), acl=acl, servers=servers, config=config)
        try:
            agent.start()
            yield agent
        finally:
            agent.end()


@contextmanager
def running_cluster(size: int = 3, **config: Any) -> Iterator[ConsulCluster]:
    """Run several servers that keep their data, for the block."""
    with tempfile.TemporaryDirectory(prefix="consul-") as folder, ExitStack() as stack:
        ports = [Ports.free() for _ in range(size)]
        join = [f"{HOST}:{each.serf_lan}" for each in ports]
        agents = [
            ConsulAgent(Path(folder), f"node{number}", servers=size, join=join, ports=each, config=config)
            for number, each in enumerate(ports)
        ]
        for agent in agents:
            stack.callback(agent.end)
            agent.start(wait=False)
        for agent in agents:
            agent.wait_ready()
        yield ConsulCluster(agents)


def _is_free(port: int) -> bool:
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        with socket.socket(socket.AF_INET, kind) as tried:
            try:
                tried.bind((HOST, port))
            except OSError:
                return False
    return True


def _set(key: str, value: str | bytes | Mapping[str, Any]) -> dict[str, Any]:
    text = json.dumps(value) if isinstance(value, Mapping) else value
    raw = text.encode() if isinstance(text, str) else text
    return {"KV": {"Verb": "set", "Key": key, "Value": base64.b64encode(raw).decode()}}


def _merged(base: dict[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Lay `more` over `base`, tables within tables."""
    merged = dict(base)
    for name, value in more.items():
        inner = merged.get(name)
        merged[name] = _merged(inner, value) if isinstance(inner, dict) and isinstance(value, Mapping) else value
    return merged
