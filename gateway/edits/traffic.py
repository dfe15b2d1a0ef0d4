"""Which requests another version would answer after a change: the gateway's own routing, asked twice. Pure.

It is taken that every active version that accepts something and has an instance that is not drained, or a service, has
one that answers: what instances really do is not known here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from types import MappingProxyType
from typing import TypeVar

from contracts.contract import Contract
from contracts.key import DocumentKey
from contracts.terms import Enforcement, Status
from contracts.version import Version
from gateway.control.documents import Documents
from gateway.control.plan import affected_models
from gateway.edits.addresses import instance_id
from gateway.edits.ranges import telling_ranges
from gateway.rollout.assignment import assign
from gateway.routing.asking import RouteRequest
from gateway.routing.decision import NotRouted
from gateway.routing.resolve import resolve
from gateway.routing.snapshot import Instance, ModelView, Snapshot, VersionView
from gateway.routing.views import assemble_model, assemble_version

Name = TypeVar("Name", bound=Hashable)

_UNAVAILABLE = 503

NOTHING_NAMED = "no version"
"""What stands for the requests that name none, which canary rules and the default share among them."""


@dataclass(frozen=True, slots=True)
class Moved:
    """Requests that are answered otherwise.

    Attributes:
        model_id: The model they are for.
        asked: What they name: a version, an alias, or `no version`.
        share: The part of those requests, 0 to 1.
        before: The version that answers now, or status and code where none does.
        after: What answers after the change.
    """

    model_id: str
    asked: str
    share: float
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Shares:
    """How the requests of one model that name no version are spread, before and after; 0 to 1 by answer.

    `dealt_anew`: the sticky key or the salt changes, so that every user falls somewhere else, though shares may stay.
    """

    model_id: str
    before: Mapping[str, float]
    after: Mapping[str, float]
    dealt_anew: bool = False


@dataclass(frozen=True, slots=True)
class MovedRanges:
    """Requests by range that are answered otherwise, all of them alike.

    Attributes:
        model_id: The model they are for.
        ranges: What stands for them, the plainest first: a range that is not here and matches the same versions as one
            of these moves with it.
        before: The version that answers now, or status and code where none does.
        after: What answers after the change.
    """

    model_id: str
    ranges: tuple[str, ...]
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Traffic:
    """What a change does to the requests of the models it touches."""

    shares: tuple[Shares, ...]
    moved: tuple[Moved, ...]
    ranges: tuple[MovedRanges, ...]


def traffic(before: Documents, after: Documents) -> Traffic:
    """Say which requests move between two sets of documents."""
    shares, moved, ranges = list[Shares](), list[Moved](), list[MovedRanges]()
    for model_id in sorted(affected_models(before, after)):
        old, new = _Side(before, model_id), _Side(after, model_id)
        pieces = _pieces(old, new)
        was, becomes = _sum((a, share) for share, a, _ in pieces), _sum((b, share) for share, _, b in pieces)
        shares.append(Shares(model_id, was, becomes, _is_dealt_anew(old, new)))
        moves = _sum(((a, b), share) for share, a, b in pieces if a != b)
        moved += [Moved(model_id, NOTHING_NAMED, share, a, b) for (a, b), share in moves.items()]
        named = _moves(old, new, dict.fromkeys([*old.names, *new.names]))
        moved += [Moved(model_id, name, 1.0, *pair) for name, pair in named.items()]
        ranges += _moved_ranges(old, new, first=named.keys())
    return Traffic(tuple(shares), tuple(moved), tuple(ranges))


class _Side:
    """One model in one set of documents."""

    def __init__(self, documents: Documents, model_id: str) -> None:
        self.model_id = model_id
        self.model = _model(documents, model_id)
        self._snapshot = _snapshot(self.model)
        self._default = _snapshot(replace(self.model, slices=()) if self.model else None)

    @property
    def names(self) -> tuple[str, ...]:
        """The aliases and versions a request can name, the highest version first."""
        if self.model is None:
            return ()
        aliases = self.model.route.aliases if self.model.route else {}
        return (*aliases, *map(str, self.versions))

    @property
    def versions(self) -> tuple[Version, ...]:
        """Those with a contract, the highest first."""
        return tuple(view.version for view in self.model.ranked) if self.model else ()

    @property
    def bounds(self) -> set[float]:
        """Where slices begin and end."""
        return {bound for owned in (self.model.slices if self.model else ()) for bound in (owned.low, owned.high)}

    @property
    def dealing(self) -> tuple[str, str] | None:
        """What decides where a user falls; None where no rule asks for that."""
        if self.model is None or self.model.route is None or not self.model.slices:
            return None
        return str(self.model.route.sticky), self.model.route.salt

    def named(self, name: str) -> str:
        """The answer to requests that name a version, a range or an alias."""
        return _outcome(self._snapshot, RouteRequest(self.model_id, (name,)))

    def at(self, bucket: float) -> str:
        """The answer to requests that name nothing and fall here."""
        owned = assign(self.model.slices, bucket=bucket) if self.model else None
        if self.model is not None and owned is not None:
            canary = self.model.versions.get(owned.version)
            if canary is not None and canary.ready and _may_begin_with(canary.contract, owned.dna_prefix):
                return str(canary.version)
        return _outcome(self._default, RouteRequest(self.model_id))


def _moves(old: _Side, new: _Side, names: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Give what answers before and after to each of these names, where that differs."""
    pairs = {name: (old.named(name), new.named(name)) for name in names}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def _moved_ranges(old: _Side, new: _Side, *, first: Collection[str]) -> list[MovedRanges]:
    """Ask by ranges on either side; `first`: the versions to make ranges from first."""
    every = {*old.versions, *new.versions}
    ranges = telling_ranges(every, first={one for one in every if str(one) in first})
    alike: dict[tuple[str, str], list[str]] = defaultdict(list)
    for text, pair in _moves(old, new, ranges).items():
        alike[pair].append(text)
    return [MovedRanges(old.model_id, tuple(texts), *pair) for pair, texts in alike.items()]


def _pieces(old: _Side, new: _Side) -> list[tuple[float, str, str]]:
    """Say how requests that name nothing fare on either side, each with its share of them."""
    if _is_dealt_anew(old, new):
        # Where a user falls now says nothing of where they will fall.
        return [(was * will, a, b) for was, a in _spread(old) for will, b in _spread(new)]
    return [(share, old.at(bucket), new.at(bucket)) for share, bucket in _cut(old.bounds | new.bounds)]


def _is_dealt_anew(old: _Side, new: _Side) -> bool:
    return old.dealing is not None and new.dealing is not None and old.dealing != new.dealing


def _spread(side: _Side) -> list[tuple[float, str]]:
    return [(share, side.at(bucket)) for share, bucket in _cut(side.bounds)]


def _cut(bounds: set[float]) -> list[tuple[float, float]]:
    """Cut [0, 1) at bounds: the length of each piece and its middle. Within a piece all requests fare the same."""
    return [(high - low, (low + high) / 2) for low, high in pairwise(sorted({0.0, 1.0} | bounds)) if high > low]


def _sum(pairs: Iterable[tuple[Name, float]]) -> dict[Name, float]:
    total: dict[Name, float] = defaultdict(float)
    for name, share in pairs:
        total[name] += share
    return {name: round(share, 9) for name, share in total.items()}


def _outcome(snapshot: Snapshot, request: RouteRequest) -> str:
    resolved = resolve(snapshot, request)
    if isinstance(resolved, NotRouted):
        if resolved.status == _UNAVAILABLE and resolved.version is not None:
            return _nobody(resolved.version)
        return f"{resolved.status} {resolved.code}"
    return str(resolved.view.version) if resolved.view.ready else _nobody(resolved.view.version)


def _nobody(version: Version) -> str:
    """Which code such an answer has is for the instances to say, and they are not known here."""
    return f"{_UNAVAILABLE} from {version}"


def _snapshot(model: ModelView | None) -> Snapshot:
    return Snapshot(0, MappingProxyType({model.model_id: model} if model else {}))


def _model(documents: Documents, model_id: str) -> ModelView | None:
    contracts = {key: one for key, one in documents.contracts.items() if key.model_id == model_id}
    if not contracts:
        return None
    views = [_view(contract, tied=key in documents.tied) for key, contract in contracts.items()]
    return assemble_model(model_id, views, documents.routes.get(DocumentKey("route", model_id)))


def _view(contract: Contract, *, tied: bool) -> VersionView:
    pretended = [_pretended(contract)] if _serves(contract) else []
    return assemble_version(contract, pretended, tied=tied)


def _serves(contract: Contract) -> bool:
    accepts = bool(contract.dna) or contract.enforcement is Enforcement.OBSERVE
    left = {instance_id(url) for url in contract.instances} - set(contract.draining)
    return contract.status is Status.ACTIVE and accepts and bool(left or contract.service)


def _pretended(contract: Contract) -> Instance:
    return Instance("-", "http://-", "-", 80, False, "", contract.model_id, contract.version, verified=True)


def _may_begin_with(contract: Contract, dna_prefix: str | None) -> bool:
    """Say whether an accepted DNA begins so; a contract that accepts digests alone leaves that open."""
    labels = contract.accepted.labels
    return dna_prefix is None or not labels or any(label.startswith(dna_prefix) for label in labels)
