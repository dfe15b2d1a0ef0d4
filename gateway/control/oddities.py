"""Registrations that are odd, each with what to do about it: pure (consul.md section 8)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from contracts.contract import Contract
from contracts.faults import listed as either
from contracts.faults import quoted
from contracts.version import Version
from gateway.sources.listing import Listing, Registration


class Oddity(StrEnum):
    """What is wrong with a registration; a label of the metric."""

    UNREADABLE = "unreadable"
    NO_CONTRACT = "no_contract"
    DUPLICATE = "duplicate"
    SHARED_ADDRESS = "shared_address"
    FLAPPING = "flapping"


@dataclass(frozen=True, slots=True)
class RegistrationFault:
    """What is wrong with one registration.

    Attributes:
        service: Service name.
        registration: Node and service id.
        shown: `host:port` as it stands in the catalogue.
        oddity: One word.
        message: A sentence that says what to do.
    """

    service: str
    registration: str
    shown: str
    oddity: Oddity
    message: str


def odd_registrations(listing: Listing, contracts: Iterable[Contract]) -> Iterator[RegistrationFault]:
    """Tell what is odd within one service."""
    places = {(contract.model_id, contract.version) for contract in contracts}
    first: dict[tuple[str, Version | None, str | None], Registration] = {}
    for one in listing.registrations:
        if one.fault:
            yield _fault(listing, one, Oddity.UNREADABLE, one.fault)
        elif not _is_placed(one, places):
            yield _fault(listing, one, Oddity.NO_CONTRACT, _no_contract(one, listing.service, contracts))
        elif one.address is not None:
            earlier = first.setdefault((one.address.authority, one.version, one.model_id), one)
            if earlier is not one:
                yield _fault(listing, one, Oddity.DUPLICATE, _duplicate(one, earlier))
        if listing.is_flapping(one.key):
            yield _fault(listing, one, Oddity.FLAPPING, _FLAPPING.format(len(listing.returns[one.key])))


_FLAPPING = (
    "left the list and came back {} times in five minutes; each time it is probed anew before it gets a request. "
    "Look at what registers it"
)


def _is_placed(one: Registration, places: set[tuple[str, Version]]) -> bool:
    if one.version is None:
        return False
    if one.model_id is not None:
        return (one.model_id, one.version) in places
    return any(version == one.version for _, version in places)


def _duplicate(one: Registration, earlier: Registration) -> str:
    if one.address == earlier.address:
        return f"says the same as {registered_as(earlier)}; deregister one of the two"
    other = f"{registered_as(earlier)}, which says another Meta.scheme and is the one used"
    return f"has the address of {other}; deregister what is wrong"


def _no_contract(one: Registration, service: str, contracts: Iterable[Contract]) -> str:
    of = f" of {quoted(one.model_id)}" if one.model_id is not None else ""
    known = either(sorted({str(contract.version) for contract in contracts}))
    return f"states {one.version}{of}, and no contract with service {quoted(service)} is of that; there is {known}"


def shared_addresses(listings: Iterable[Listing]) -> Iterator[RegistrationFault]:
    """Tell of addresses that registrations claim for different things: one process cannot be both."""
    by_address: defaultdict[str, list[tuple[Listing, Registration]]] = defaultdict(list)
    for listing in listings:
        for one in listing.registrations:
            if one.address is not None:
                by_address[one.address.authority].append((listing, one))
    for claims in by_address.values():
        if len({(listing.service, one.version, one.model_id) for listing, one in claims}) > 1:
            for listing, one in claims:
                others = either([_claim(*claim) for claim in claims if claim[1] is not one])
                yield _fault(listing, one, Oddity.SHARED_ADDRESS, f"has its address from {others} too; {_DECIDES}")


_DECIDES = "the probe decides which of them it is. Deregister what is wrong"


def _claim(listing: Listing, one: Registration) -> str:
    return f"{registered_as(one)} of {listing.service} ({one.version or 'no version'})"


def _fault(listing: Listing, one: Registration, oddity: Oddity, message: str) -> RegistrationFault:
    return RegistrationFault(listing.service, registered_as(one), one.shown, oddity, message)


def registered_as(one: Registration) -> str:
    """Name a registration for people: node and service id."""
    return f"{one.node}/{one.id}"
