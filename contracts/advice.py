"""What is not wrong with documents, but surely not meant (routing.md section 2, dna.md sections 1 and 11)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import TypeAlias

from contracts.address import parse_address
from contracts.contract import Contract
from contracts.faults import Fault, quoted
from contracts.key import DocumentKey
from contracts.route import CanaryRule, Route
from contracts.selector import Exact, Range, Selector
from contracts.terms import Enforcement, Status
from contracts.version import Version

Found: TypeAlias = Iterator[tuple[DocumentKey, Fault]]

_TELLING_PREFIX = 4
"""Characters. A shorter `dna_prefix` is meant to fit several stacks."""

_GLUED_NUMBER = re.compile(r"([A-Za-z]+)([0-9]+)")


def contract_advice(contracts: Mapping[DocumentKey, Contract]) -> Found:
    """Find what each contract and all of them together should be told."""
    known = {(contract.model_id, contract.version) for contract in contracts.values()}
    for key, contract in contracts.items():
        for fault in contract.warnings:
            yield key, fault
        for fault in about_one(contract):
            yield key, fault
        if contract.successor and (contract.model_id, contract.successor) not in known:
            yield key, _advice("/successor", f"{contract.successor} has no contract, so clients are sent nowhere.")
    yield from _shared(contracts, "dna", "digest", _digests)
    yield from _shared(contracts, "instances", "address", lambda contract: contract.instances)


def route_advice(routes: Mapping[DocumentKey, Route], contracts: Mapping[DocumentKey, Contract]) -> Found:
    """Find what each route should be told, given the contracts there are."""
    models: dict[str, dict[Version, Contract]] = defaultdict(dict)
    for contract in contracts.values():
        models[contract.model_id][contract.version] = contract
    for key, route in routes.items():
        for fault in (*route.warnings, *_about_route(route, models.get(route.model_id, {}))):
            yield key, fault


def about_one(contract: Contract) -> Iterator[Fault]:
    """Find what a contract should be told whatever others there are."""
    for word in contract.version.prerelease:
        if glued := _GLUED_NUMBER.fullmatch(word):
            better = f"{glued[1]}.{glued[2]}"
            words = f"{quoted(word)} is ordered by letter, {glued[1]}10 before {glued[1]}2; write {better}."
            yield _advice("/version", words)
    serves = contract.status is not Status.RETIRED and contract.enforcement is Enforcement.ENFORCE
    if serves and not contract.dna:
        words = "nothing is accepted, so this version serves nothing; add entries, or set enforcement to observe."
        yield _advice("/dna", words)
    yield from _about_draining(contract)


def _about_draining(contract: Contract) -> Iterator[Fault]:
    if not contract.instances:
        return  # whom a service lists is for the catalogue to say
    addresses = map(parse_address, contract.instances)
    ids = {address.authority + address.base_path for address in addresses}
    for place, name in enumerate(contract.draining):
        if name not in ids:
            yield _advice(
                f"/draining/{place}", f"{quoted(name)} is none of its instances, so nothing is drained by it."
            )
    if ids <= set(contract.draining):
        yield _advice("/draining", "every instance is drained, so this version serves nothing.")


def _about_route(route: Route, versions: Mapping[Version, Contract]) -> Iterator[Fault]:
    if not versions:
        yield _advice("/model_id", f"no contract is of the model {quoted(route.model_id)}.")
        return
    selectors = {"/default": route.default, **{f"/aliases/{name}": each for name, each in route.aliases.items()}}
    for path, selector in selectors.items():
        if not _selects(selector, versions):
            yield _advice(path, "no contract is of a version that this selects.")
    for place, rule in enumerate(route.canary_rules):
        yield from _about_rule(rule, versions.get(rule.version), f"/canary_rules/{place}")


def _selects(selector: Selector | None, versions: Mapping[Version, Contract]) -> bool:
    if isinstance(selector, Exact):
        return selector.version in versions
    if isinstance(selector, Range):
        return any(selector.matches(version) for version in versions)
    return True


def _about_rule(rule: CanaryRule, contract: Contract | None, path: str) -> Iterator[Fault]:
    if contract is None:
        yield _advice(f"{path}/version", f"{rule.version} has no contract, so the rule has no effect.")
        return
    labels, prefix = contract.accepted.labels, rule.dna_prefix
    if prefix is None or not labels:
        return
    stacks = sorted(label for label in labels if label.startswith(prefix))
    if not stacks:
        yield _advice(f"{path}/dna_prefix", f"{quoted(prefix)} begins no DNA that {rule.version} accepts.")
    if len(prefix) >= _TELLING_PREFIX and len(stacks) > 1:
        words = f"{quoted(prefix)} begins the DNA of {len(stacks)} stacks: {', '.join(stacks)}; write more of it."
        yield _advice(f"{path}/dna_prefix", words)


def _digests(contract: Contract) -> Iterable[Hashable]:
    return [entry.digest for entry in contract.dna]


def _shared(
    contracts: Mapping[DocumentKey, Contract],
    member: str,
    noun: str,
    values: Callable[[Contract], Iterable[Hashable]],
) -> Found:
    """Find values that stand in the same member of two contracts."""
    owners: dict[Hashable, list[DocumentKey]] = defaultdict(list)
    for key, contract in contracts.items():
        for value in values(contract):
            if value is not None:
                owners[value].append(key)
    for key, contract in contracts.items():
        for place, value in enumerate(values(contract)):
            others = owners.get(value, ())
            if len(others) > 1:
                other = others[0] if others[0] != key else others[1]
                more = f" and {len(others) - 2} more" if len(others) > 2 else ""
                yield key, _advice(f"/{member}/{place}", f"the same {noun} stands in {other}{more}.")


def _advice(path: str, message: str) -> Fault:
    return Fault(path, message, "warning")
