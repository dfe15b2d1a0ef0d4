"""Which instances the contracts get from the catalogue, and which registrations are odd: pure (consul.md section 8).

A registration says what it wants to be; our own probe decides what it is. What cannot be placed is shown and never
used: no version, no contract for it, no address, or an address that the same version has already.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from types import MappingProxyType

from contracts.contract import Contract
from contracts.terms import Status
from contracts.version import Version
from gateway.control.oddities import RegistrationFault, odd_registrations, registered_as, shared_addresses
from gateway.sources.listing import CheckState, Listing, Registration

VersionKey = tuple[str, str]
"""Model id and printed version."""


@dataclass(frozen=True, slots=True)
class Listed:
    """One instance of a contract, as its contract or the catalogue lists it.

    Attributes:
        url: Base URL.
        weight: Share of the requests.
        draining: An operator wishes it to get no new requests: why, in words; empty where nobody does.
        is_doubted: The catalogue's checks are critical: the first probe that fails takes it down.
        registration: Node and service id, for people; empty where the contract itself lists it.
        dna: What `Meta.dna` says: a hint for people.
    """

    url: str
    weight: float = 1.0
    draining: str = ""
    is_doubted: bool = False
    registration: str = ""
    dna: str | None = None


@dataclass(frozen=True, slots=True)
class Placed:
    """One service: which of its registrations the contracts get.

    Attributes:
        listing: What the catalogue lists of it.
        contracts: Those that name it.
        instances: By contract, in the order of node and service id.
        faults: In the order of nodes and service ids.
    """

    listing: Listing
    contracts: tuple[Contract, ...]
    instances: Mapping[VersionKey, tuple[Listed, ...]]
    faults: tuple[RegistrationFault, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """What the catalogue lists, and what of it the contracts get.

    Attributes:
        listings: By service.
        instances: By contract that names a service, in the order of node and service id.
        placed: The same, by service that contracts name.
        faults: In the order of services, nodes and service ids.
        services: Those that have to be followed.
    """

    listings: Mapping[str, Listing] = field(default_factory=lambda: MappingProxyType({}))
    instances: Mapping[VersionKey, tuple[Listed, ...]] = field(default_factory=lambda: MappingProxyType({}))
    placed: Mapping[str, Placed] = field(default_factory=lambda: MappingProxyType({}))
    faults: tuple[RegistrationFault, ...] = ()
    services: frozenset[str] = frozenset()

    def is_read(self, service: str) -> bool:
        """Say whether the catalogue has ever answered for a service."""
        listing = self.listings.get(service)
        return listing is not None and listing.read_at is not None

    def lists_any(self, service: str) -> bool:
        """Say whether a service has any registration, odd ones too."""
        return service in self.listings and bool(self.listings[service].registrations)


NO_CHOICE = Choice()


def version_key(contract: Contract) -> VersionKey:
    """Name a contract."""
    return (contract.model_id, str(contract.version))


def services_of(contracts: Iterable[Contract]) -> frozenset[str]:
    """List the services that contracts name; a retired version has no instances."""
    return frozenset(one.service for one in contracts if one.service and one.status is not Status.RETIRED)


def choose(contracts: Iterable[Contract], listings: Mapping[str, Listing], *, before: Choice = NO_CHOICE) -> Choice:
    """Place every registration.

    Args:
        contracts: All in force.
        listings: By service name; a service without one was not read yet.
        before: The last choice; what concerns a service of which nothing changed is taken from it, for ten thousand
            contracts placed anew would hold requests up.
    """
    by_service: defaultdict[str, list[Contract]] = defaultdict(list)
    for contract in contracts:
        if contract.service is not None:
            by_service[contract.service].append(contract)
    placed = {
        service: _placed(listings.get(service, Listing(service)), tuple(named), before.placed.get(service))
        for service, named in sorted(by_service.items())
    }
    instances = {key: ones for one in placed.values() for key, ones in one.instances.items()}
    faults = [fault for one in placed.values() for fault in one.faults]
    faults.extend(shared_addresses(one.listing for one in placed.values()))
    return Choice(listings, instances, placed, tuple(faults), services_of(chain(*by_service.values())))


def _placed(listing: Listing, contracts: tuple[Contract, ...], before: Placed | None) -> Placed:
    if before is not None and before.listing == listing and before.contracts == contracts:
        return before
    by_version: defaultdict[Version | None, list[Registration]] = defaultdict(list)
    for one in listing.registrations:
        by_version[one.version].append(one)
    instances = {
        version_key(contract): tuple(_instances(contract, by_version[contract.version])) for contract in contracts
    }
    return Placed(listing, contracts, instances, tuple(odd_registrations(listing, contracts)))


def models_listed_otherwise(before: Choice, after: Choice, contracts: Iterable[Contract]) -> dict[str, list[Contract]]:
    """List the models of which instances came, went or changed, each with its contracts."""
    listed_otherwise = {
        contract.model_id
        for service, placed in after.placed.items()
        if placed is not before.placed.get(service)
        for contract in placed.contracts
        if _is_listed_otherwise(before, after, contract, service)
    }
    by_model: dict[str, list[Contract]] = {model_id: [] for model_id in listed_otherwise}
    for contract in contracts:
        if contract.model_id in by_model:
            by_model[contract.model_id].append(contract)
    return by_model


def _is_listed_otherwise(before: Choice, after: Choice, contract: Contract, service: str) -> bool:
    """Other instances than before, or the first answer of all: an empty one is news too."""
    is_first = after.is_read(service) and not before.is_read(service)
    key = version_key(contract)
    return is_first or before.instances.get(key, ()) != after.instances.get(key, ())


def _instances(contract: Contract, registrations: Iterable[Registration]) -> Iterator[Listed]:
    """Give those of a version that belong to a contract, each address once."""
    taken: set[str] = set()
    for one in registrations:
        if one.address is None or one.model_id not in {None, contract.model_id} or one.address.authority in taken:
            continue
        taken.add(one.address.authority)
        yield Listed(
            one.address.url, one.weight, _draining(one), one.check is CheckState.CRITICAL, registered_as(one), one.dna
        )


def _draining(one: Registration) -> str:
    if one.maintenance is None:
        return ""
    return f"by an operator's wish{': ' if one.maintenance else ''}{one.maintenance}"
