"""Who is at the other end of a client connection: what it may say of others, and how many connections it may have.

`X-Forwarded-*` of a client is replaced, unless its address is that of a trusted proxy (http.md section 4.3). One
address has a bounded number of connections (section 2.2); trusted proxies and this machine itself stand for many
clients and have no bound of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_address

Networks = tuple[IPv4Network | IPv6Network, ...]
_MAPPED = "::ffff:"
UNKNOWN = "-"


class Peers:
    """Counts the connections of every address.

    Args:
        trusted: Networks of trusted proxies.
        most: Connections one address may have.
    """

    def __init__(self, trusted: Sequence[IPv4Network | IPv6Network], most: int) -> None:
        self._trusted = tuple(trusted)
        self._most = most
        self._open: dict[str, int] = {}

    def admit(self, address: str) -> bool:
        """Count one more connection of an address; say no where it has too many, which counts nothing."""
        count = self._open.get(address, 0)
        if count >= self._most and not (self.is_trusted(address) or _is_this_machine(address)):
            return False
        self._open[address] = count + 1
        return True

    def leave(self, address: str) -> None:
        """Count a connection less."""
        count = self._open[address] - 1
        if count:
            self._open[address] = count
        else:
            del self._open[address]

    def is_trusted(self, address: str) -> bool:
        """Say whether an address belongs to a trusted proxy."""
        return bool(self._trusted) and _is_within(address, self._trusted)


@lru_cache(maxsize=4096)
def _is_within(address: str, networks: Networks) -> bool:
    try:
        parsed = ip_address(address.removeprefix(_MAPPED))
    except ValueError:
        return False
    return any(parsed.version == network.version and parsed in network for network in networks)


def _is_this_machine(address: str) -> bool:
    return address.removeprefix(_MAPPED).startswith("127.") or address in ("::1", UNKNOWN)
