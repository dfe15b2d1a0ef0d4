"""Faults that no single member of a document shows.

They are looked for in the plain values, so that they are told together with all others; a member that cannot be read
has a fault of its own already and is passed over here.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import TypeAlias, TypeVar

from contracts.address import HOST_PLACE, parse_address
from contracts.canary import exact_sum
from contracts.faults import Fault, listed, pointer, quoted
from contracts.field_types import parse_instant
from contracts.harvest import Plain
from contracts.key import DocumentKey, DocumentKind
from contracts.selector import Alias, parse_selector
from contracts.version import Version

Value = TypeVar("Value")
Document: TypeAlias = Mapping[str, Plain]

_ALL = 100


def contract_faults(value: Document, key: DocumentKey | None) -> Iterator[Fault]:
    """Find the crosswise faults of a contract that stands under a key."""
    yield from _key_faults(value, key, "contract")
    yield from _date_faults(value)
    yield from _successor_faults(value)
    yield from _address_faults(value)
    yield from _repeats(value, "instances", lambda text: _read(_url, text))
    yield from _repeats(value, "dna", _runtime)
    yield from _repeats(value, "bind", lambda member: _read(str, member))


def route_faults(value: Document, key: DocumentKey | None) -> Iterator[Fault]:
    """Find the crosswise faults of a route that stands under a key."""
    yield from _key_faults(value, key, "route")
    yield from _alias_faults(value)
    yield from _repeats(value, "canary_rules", _rule)
    total = exact_sum(list(_percentages(value.get("canary_rules"))))
    if total > _ALL:
        yield Fault("/canary_rules", f"the percentages add up to {float(total):g}; 100 is all there is.")


def _key_faults(value: Document, key: DocumentKey | None, kind: DocumentKind) -> Iterator[Fault]:
    if key is None:
        return
    if key.kind != kind:
        yield Fault("", f"the document is read as a {kind}, but stands under {key}.")
        return
    model_id = value.get("model_id")
    if isinstance(model_id, str) and model_id != key.model_id:
        yield Fault("/model_id", f"{quoted(model_id)} does not agree with the key {key}; change one of the two.")
    version = _read(Version.parse, value.get("version"))
    if key.version and version and version != key.version:
        yield Fault("/version", f"{version} does not agree with the key {key}; change one of the two.")


def _date_faults(value: Document) -> Iterator[Fault]:
    deprecated, sunset = (_read(parse_instant, value.get(name)) for name in ("deprecated_at", "sunset_at"))
    if deprecated and sunset and sunset < deprecated:
        yield Fault("/sunset_at", "lies before deprecated_at; a version is deprecated first and ends later.")


def _successor_faults(value: Document) -> Iterator[Fault]:
    successor = _read(Version.parse, value.get("successor"))
    if successor and successor == _read(Version.parse, value.get("version")):
        yield Fault("/successor", f"{successor} is this version itself; name the one that follows it.")


def _address_faults(value: Document) -> Iterator[Fault]:
    instances, service = value.get("instances"), value.get("service")
    if instances and service:
        yield Fault("/service", "stands beside instances; keep one of the two.")
    many = bool(service) or (isinstance(instances, list) and len(instances) > 1)
    health_url = value.get("health_url")
    if many and isinstance(health_url, str) and health_url.startswith("http") and HOST_PLACE not in health_url:
        # One attestor cannot vouch for a process on another machine: all instances would pass by the first one's word.
        words = f"is one address for several instances; write a path, or {HOST_PLACE} for each instance's host."
        yield Fault("/health_url", words)


def _alias_faults(value: Document) -> Iterator[Fault]:
    aliases = value.get("aliases")
    names = aliases if isinstance(aliases, Mapping) else {}
    for name, target in names.items():
        path = pointer(["aliases", name])
        if not isinstance(_read(parse_selector, name), Alias):
            words = "cannot name an alias: write a letter, then letters, digits and . _ -, and nothing like a version."
            yield Fault(path, f"{quoted(name)} {words}")
        if isinstance(_read(parse_selector, target), Alias):
            yield Fault(path, f"{quoted(target)} is itself a word; an alias stands for a version or a range.")
    default = _read(parse_selector, value.get("default"))
    if isinstance(default, Alias) and default.name not in names:
        known = f"defined are {listed(names)}" if names else "none is defined"
        yield Fault("/default", f"{quoted(default.name)} is no alias of this route; {known}.")


def _repeats(value: Document, name: str, same: Callable[[Plain], Hashable]) -> Iterator[Fault]:
    """Find entries of a list that say what an earlier one said; `same` is what tells entries apart."""
    entries = value.get(name)
    first: dict[Hashable, int] = {}
    for place, entry in enumerate(entries if isinstance(entries, list) else ()):
        mark = same(entry)
        if mark is not None and first.setdefault(mark, place) != place:
            yield Fault(f"/{name}/{place}", f"says the same as /{name}/{first[mark]}; remove one of the two.")


def _runtime(entry: Plain) -> Hashable:
    """The digest, where two entries of one digest are one runtime; otherwise the DNA."""
    if not isinstance(entry, Mapping):
        return None
    return _read(str, entry.get("digest")) or _read(str, entry.get("dna"))


def _rule(entry: Plain) -> Hashable:
    if not isinstance(entry, Mapping):
        return None
    version = _read(Version.parse, entry.get("version"))
    return version and (version, _read(str, entry.get("dna_prefix")))


def _url(text: str) -> str:
    return parse_address(text).url


def _percentages(rules: Plain) -> Iterator[float]:
    for rule in rules if isinstance(rules, list) else ():
        share = rule.get("traffic_percentage") if isinstance(rule, Mapping) else None
        if isinstance(share, int | float) and not isinstance(share, bool) and 0 <= share <= _ALL:
            yield share


def _read(parse: Callable[[str], Value], value: Plain) -> Value | None:
    """Read a member if it can be read."""
    if not isinstance(value, str):
        return None
    try:
        return parse(value)
    except ValueError:
        return None
