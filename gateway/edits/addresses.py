"""Where the instances of contracts are: as a contract lists them, or as the catalogue lists its service."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from contracts.address import AddressError, parse_address
from contracts.contract import Contract
from gateway.control.catalogue import choose, services_of, version_key
from gateway.edits.place import Place

Addresses = Mapping[tuple[str, str], tuple[str, ...]]
"""Base URLs by model id and printed version."""


def addresses_of(place: Place, contracts: Iterable[Contract]) -> Addresses:
    """List base URLs per contract.

    Raises:
        PlaceFailed: The catalogue cannot be read.
    """
    every = tuple(contracts)
    choice = choose(every, place.listings(sorted(services_of(every))))
    return {
        version_key(one): one.instances
        if one.service is None
        else tuple(listed.url for listed in choice.instances.get(version_key(one), ()))
        for one in every
    }


def instance_id(url: str) -> str:
    """What people call an instance: `host:port`, with the base path where there is one."""
    address = parse_address(url)
    return address.authority + address.base_path


def named_instance(text: str) -> str:
    """Read how an operator names an instance: as `dna status` shows it, or by its base URL."""
    try:
        return instance_id(text)
    except AddressError:
        return text
