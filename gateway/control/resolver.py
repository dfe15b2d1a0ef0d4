"""Finds the literal address behind the name of an instance (http.md section 4.1).

Only the control plane asks for names, before each probe; probes and requests then go to the same literal address. What
was verified is therefore what answers: a name that moves to another machine is another instance, which knows nothing.
"""

from __future__ import annotations

import asyncio
import socket
from ipaddress import ip_address


def literal(host: str) -> str | None:
    """Give the host if it is an address already; None for a name."""
    try:
        return str(ip_address(host))
    except ValueError:
        return None


class Resolver:
    """Asks the machine's resolver.

    Args:
        timeout_s: How long one answer may take.
    """

    def __init__(self, *, timeout_s: float = 2.0) -> None:
        self._timeout_s = timeout_s

    async def resolve(self, host: str, *, known: str) -> str:
        """Give the address of a host; the known one for as long as the name still has it, or cannot be asked for.

        A resolver that is away takes no instance out of service.

        Args:
            host: A name; an address is its own.
            known: The address in use, empty where there is none yet.

        Raises:
            OSError: The name has no address and none is known.
        """
        if (address := literal(host)) is not None:
            return address
        try:
            async with asyncio.timeout(self._timeout_s):
                found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            if known:
                return known
            raise OSError(f"the name {host} has no address: {_reason(error)}") from error
        addresses = sorted({str(entry[4][0]) for entry in found})
        return known if known in addresses else addresses[0]


def _reason(error: OSError | UnicodeError) -> str:
    if isinstance(error, TimeoutError):
        return "the resolver did not answer in time"
    return str(getattr(error, "strerror", None) or error)
