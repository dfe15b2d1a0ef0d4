"""Registrations and listings for tests, in as few words as the story needs."""

from __future__ import annotations

from typing import Any

from contracts.address import parse_address
from contracts.version import Version
from gateway.sources.listing import Listing, Registration, take

SERVICE = "bert"


def registration(
    name: str,
    where: str = "10.0.0.1:8000",
    version: str | None = "v1.0.0",
    *,
    node: str = "n1",
    scheme: str = "http",
    **fields: Any,
) -> Registration:
    """One registration; `where` is `host:port`."""
    return Registration(
        id=name,
        node=node,
        shown=where,
        address=parse_address(f"{scheme}://{where}"),
        version=Version.parse(version) if version else None,
        **fields,
    )


def listing(*listed: Registration, service: str = SERVICE, now: float = 100.0) -> Listing:
    """A service whose list was read once."""
    return take(Listing(service), listed, went_back=False, now=now)
