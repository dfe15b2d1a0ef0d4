"""Which ports the demo listens on: 8080 and 8081 for the gateway, whatever is free for the workers."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Mapping
from dataclasses import dataclass

HOST = "127.0.0.1"
PORT, ADMIN_PORT = 8080, 8081
PORT_VARIABLE, ADMIN_PORT_VARIABLE = "GATEWAY_PORT", "GATEWAY_ADMIN_PORT"
HIGHEST = 65_535


class PortRefused(Exception):
    """A port that was asked for cannot be had; the message says what to do."""


@dataclass(frozen=True, slots=True)
class GatewayPorts:
    """Where the gateway listens. `notes` are sentences on ports other than the usual ones."""

    port: int
    admin_port: int
    notes: tuple[str, ...] = ()


def choose_gateway_ports(environment: Mapping[str, str]) -> GatewayPorts:
    """Choose the gateway's two ports.

    A port that a variable names is taken or refused. The usual one gives way to a free one when somebody else has it.

    Raises:
        PortRefused: A variable is no port number, names a taken port, or both name the same.
    """
    notes: list[str] = []
    port = _choose(environment, PORT_VARIABLE, PORT, notes)
    admin_port = _choose(environment, ADMIN_PORT_VARIABLE, ADMIN_PORT, notes)
    if port == admin_port:
        raise PortRefused(f"{PORT_VARIABLE} and {ADMIN_PORT_VARIABLE} are both {port}; the gateway needs two ports.")
    return GatewayPorts(port, admin_port, tuple(notes))


def free_ports(count: int) -> list[int]:
    """Find so many different ports that nothing listens on now."""
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind((HOST, 0))
        return [int(one.getsockname()[1]) for one in sockets]


def is_free(port: int) -> bool:
    """Say whether this port can be listened on."""
    with socket.socket() as one:
        # As servers do: connections of an earlier run that have not aged out are in nobody's way.
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind((HOST, port))
        except OSError:
            return False
    return True


def _choose(environment: Mapping[str, str], variable: str, usual: int, notes: list[str]) -> int:
    asked = environment.get(variable, "").strip()
    if asked:
        return _asked_port(variable, asked)
    if is_free(usual):
        return usual
    port = free_ports(1)[0]
    notes.append(f"Port {usual} is taken, so {port} is used instead. {variable} chooses another.")
    return port


def _asked_port(variable: str, asked: str) -> int:
    if not asked.isascii() or not asked.isdecimal() or int(asked) > HIGHEST:
        raise PortRefused(f"{variable} is {asked!r}; it must be a port number, or 0 for any free port.")
    port = int(asked)
    if port == 0:
        return free_ports(1)[0]
    if not is_free(port):
        raise PortRefused(
            f"Port {port} is taken: something else listens on {HOST}:{port}. "
            f"Stop it, or set {variable} to another port, such as {variable}=0 for any free one."
        )
    return port
