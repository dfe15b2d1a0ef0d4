"""The snapshot: all documents and instances of one generation, immutable, always belonging together.

A request is decided on one snapshot from its first byte to its last decision. Lists that a request walks are short
and made ahead (`ready`, `ranked`, `slices`): deciding a request never scans the fleet.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

from contracts.contract import Contract
from contracts.route import Route
from contracts.selector import Exact, Range
from contracts.terms import Status
from contracts.version import Version

if TYPE_CHECKING:
    from gateway.routing.decision import Resolution


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why an instance gets no request now.

    `step` is one of the words of the routing table (`draining`, `unverified`, `suspect`, `ejected`, `down`);
    `cause` is the sentence part behind it (`digest differs`, `connection refused`).
    """

    step: str
    cause: str

    def __str__(self) -> str:
        return f"{self.step}: {self.cause}" if self.cause else self.step


@dataclass(frozen=True, slots=True)
class Instance:
    """One worker process the gateway can dial, as routing sees it.

    Two snapshots hold the same object for an instance whose state did not change.
    """

    id: str
    """What people see: `host:port`, with the base path where there is one. Unique within a version."""
    url: str
    """The base URL as the contract states it."""
    host: str
    """Name or address as the contract states it."""
    port: int
    tls: bool
    base_path: str
    model_id: str
    version: Version
    address: str = ""
    """Literal address that probes and requests go to; empty until a name was resolved."""
    weight: float = 1.0
    max_in_flight: int = 64
    refusal: Refusal | None = None
    """None: may get requests."""
    verified: bool = False
    dna: str | None = None
    digest: str | None = None
    boot_id: str | None = None
    gpu_name: str | None = None
    ready_since: float = 0.0
    """Monotonic second at which it last became ready; slow start counts from here."""
    back_at: float | None = None
    """Monotonic second at which it may be ready again, where that is known."""
    key: tuple[str, str, str] = field(init=False, repr=False, compare=False)
    """Identifies the instance across snapshots: model id, printed version, base URL."""
    authority: str = field(init=False, repr=False, compare=False)
    """`host:port` as it stands in `Host` (RFC 3986 section 3.2): IPv6 in brackets."""

    def __post_init__(self) -> None:
        host = f"[{self.host}]" if ":" in self.host else self.host
        object.__setattr__(self, "key", (self.model_id, str(self.version), self.url))
        object.__setattr__(self, "authority", f"{host}:{self.port}")


@dataclass(frozen=True, slots=True)
class VersionView:
    """One contract with its instances."""

    contract: Contract
    instances: tuple[Instance, ...] = ()
    ready: tuple[Instance, ...] = ()
    """Those without a refusal, in the order of `instances`."""
    tied: bool = False
    """Another build of the same precedence exists and neither came first: ranges use neither (routing.md section 2)."""
    key: tuple[str, str] = field(init=False, repr=False, compare=False)
    """Model id and printed version."""
    is_active: bool = field(init=False, repr=False, compare=False)
    """The contract is in service; this and the next two are the contract's, which is slow to ask."""
    is_dated: bool = field(init=False, repr=False, compare=False)
    """The contract has a day on which it is deprecated or goes out of service."""
    max_body_bytes: int | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        contract = self.contract
        object.__setattr__(self, "key", (contract.model_id, str(contract.version)))
        object.__setattr__(self, "is_active", contract.status is Status.ACTIVE)
        object.__setattr__(self, "is_dated", contract.deprecated_at is not None or contract.sunset_at is not None)
        object.__setattr__(self, "max_body_bytes", contract.limits.max_body_bytes)

    @property
    def version(self) -> Version:
        """The version this view is of."""
        return self.contract.version


@dataclass(frozen=True, slots=True)
class CanarySlice:
    """The part of [0, 1) that one canary rule owns."""

    low: float
    high: float
    version: Version
    dna_prefix: str | None


@dataclass(frozen=True, slots=True)
class ModelView:
    """All versions of one model and its route."""

    model_id: str
    versions: Mapping[Version, VersionView] = field(default_factory=lambda: MappingProxyType({}))
    ranked: tuple[VersionView, ...] = ()
    """Highest precedence first, the order in which ranges look."""
    route: Route | None = None
    default: Exact | Range | None = None
    """The route's default, an alias looked up already."""
    slices: tuple[CanarySlice, ...] = ()
    max_bodies: frozenset[int | None] = frozenset()
    """Largest bodies that its contracts allow, in bytes; None: what the gateway allows."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All documents and instances of one generation."""

    generation: int = 0
    models: Mapping[str, ModelView] = field(default_factory=lambda: MappingProxyType({}))
    resolved: dict[tuple[object, ...], Resolution] = field(default_factory=dict, init=False, repr=False, compare=False)
    """Answers of `resolve` to questions that only this snapshot decides; the same question has the same answer."""

    def version(self, model_id: str, version: Version) -> VersionView | None:
        """Find one version of one model; None where this generation has no such contract."""
        model = self.models.get(model_id)
        return model.versions.get(version) if model else None


EMPTY = Snapshot()
