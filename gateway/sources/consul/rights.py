"""Whose token the gateway reads with, for people who look for a right that is missing (reference page `consul`, 1).

Best effort: what cannot be learned is said and changes nothing. The token itself is never kept.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from gateway.printable import printable
from gateway.sources.consul.client import ConsulClient, ensure_good, read_token
from gateway.sources.consul.failed import ConsulFailed

AGAIN_S = 60.0
"""A token may be rotated while we run; it is named anew so often."""
_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Rights:
    """What is known of our token.

    Attributes:
        accessor: The token's accessor id, which is no secret; empty where it is not known.
        policies: Names of its policies, and of its roles.
        problem: Why it is not known, as a sentence; empty where it is.
    """

    accessor: str = ""
    policies: tuple[str, ...] = ()
    problem: str = ""


class OwnRights:
    """Asks now and then whose token it is. Keep `run` running.

    Args:
        client: Asks Consul; closed by whoever made it.
    """

    def __init__(self, client: ConsulClient) -> None:
        self._client = client
        self.known = Rights(problem="not asked yet")
        """What was learned last."""

    async def run(self) -> None:
        """Ask until cancelled."""
        while True:
            await self.look()
            await asyncio.sleep(AGAIN_S)

    async def look(self) -> None:
        """Ask once."""
        try:
            if await asyncio.to_thread(read_token, self._client.address) is None:
                self.known = Rights(problem="no token is set; Consul's rules for anonymous calls hold")
                return
            reply = ensure_good(await self._client.read("/v1/acl/token/self"))
            self.known = _rights(reply.json())
        except ConsulFailed as failed:
            self.known = Rights(problem=str(failed))


def _rights(said: Any) -> Rights:
    if not isinstance(said, dict) or not isinstance(said.get("AccessorID"), str):
        return Rights(problem="Consul's reply names no token")
    return Rights(printable(said["AccessorID"])[:_SHOWN], (*_names(said.get("Policies")), *_names(said.get("Roles"))))


def _names(linked: Any) -> tuple[str, ...]:
    named = [each.get("Name") for each in linked if isinstance(each, dict)] if isinstance(linked, list) else []
    return tuple(printable(name)[:_SHOWN] for name in named if isinstance(name, str))
