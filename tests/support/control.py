"""Documents, readings and a fleet on a clock of its own, for tests of the control plane."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from prometheus_client import CollectorRegistry

from contracts.version import Version
from gateway.control.assemble import assemble
from gateway.control.documents import NO_DOCUMENTS, Documents
from gateway.control.fleet import Fleet
from gateway.control.schedule import ProbeSchedule
from gateway.control.standing import InstanceKey, Probe, Tracked
from gateway.health.liveness import ProbeOutcome
from gateway.routing.snapshot import Instance, VersionView
from gateway.sources.listing import Listing, Registration, take
from gateway.sources.reading import DocumentFault, DocumentText, Reading
from gateway.telemetry.changes import Change, ChangeKind
from gateway.telemetry.metrics import Metrics
from inference_dna.dna import strand
from inference_dna.observation import NO_ANSWER, Observation
from tests.support.registrations import SERVICE

MODEL = "m"


def digest(seed: str) -> str:
    """The runtime digest of a worker that is `seed`, one hex character."""
    return f"sha256:{seed * 64}"


def dna(seed: str) -> str:
    """The DNA that goes with it, for the empty input."""
    return seed * 8 + strand(seed * 64, "")


def contract(version: str = "v1.0.0", *urls: str, accepts: str = "a", **fields: Any) -> str:
    """The text of a contract that accepts the workers of these seeds."""
    accepted = [{"dna": dna(seed), "digest": digest(seed)} for seed in accepts]
    document = {"model_id": MODEL, "version": version, "dna": accepted, "instances": list(urls), **fields}
    return json.dumps(document)


def route(**fields: Any) -> str:
    """The text of a route."""
    return json.dumps({"model_id": MODEL, **fields})


def reading(
    documents: Mapping[str, str],
    *,
    gone: frozenset[str] | set[str] = frozenset(),
    faults: Mapping[str, str] | None = None,
    ok: bool = True,
) -> Reading:
    """What a source says; keys are as in a folder, such as `contracts/m/v1.0.0`."""
    texts = {key: DocumentText(key, text.encode(), f"{key}.json") for key, text in documents.items()}
    wrong = {key: DocumentFault(f"{key}.json", message) for key, message in (faults or {}).items()}
    return Reading(texts, frozenset(gone), wrong, () if ok else ("the folder is away",), ok=ok)


def documents_of(*texts: str, before: Documents = NO_DOCUMENTS) -> Documents:
    """Assemble these texts, each under its own key; what is not among them is gone."""
    by_key = {key_of(text): text for text in texts}
    return assemble(before, reading(by_key, gone=before.entries.keys() - by_key.keys()))


def key_of(text: str) -> str:
    """The key a document stands under."""
    value = json.loads(text)
    if "version" in value:
        return f"contracts/{value['model_id']}/{Version.parse(value['version'])}"
    return f"routes/{value['model_id']}"


def stated(seed: str = "a", *, version: str = "v1.0.0", status: str | None = "ok", **fields: Any) -> Observation:
    """What a worker that is `seed` states to a probe."""
    values: dict[str, Any] = {"dna": dna(seed), "digest": digest(seed), "assurance": "full-hash", **fields}
    return Observation(200, status, model_id=MODEL, version=version, boot_id="00", **values)


class Clock:
    """A clock that only moves when told."""

    def __init__(self) -> None:
        self.at = 1000.0

    def __call__(self) -> float:
        return self.at

    def pass_(self, seconds: float) -> None:
        """Let time pass."""
        self.at += seconds


@dataclass
class Story:
    """A fleet, its clock, and everything that was told of it."""

    clock: Clock = field(default_factory=Clock)
    told: list[Change] = field(default_factory=list)
    seen: list[Instance] = field(default_factory=list)
    swaps: list[int] = field(default_factory=list)
    documents: Documents = NO_DOCUMENTS
    has_catalogue: bool = False

    def __post_init__(self) -> None:
        self.registry = CollectorRegistry()
        self.metrics = Metrics(self.registry, build="test")
        self.schedule = ProbeSchedule(self.clock)
        self.fleet = Fleet(
            now=self.clock,
            draw=lambda: 0.5,
            schedule=self.schedule,
            metrics=self.metrics,
            listener=self.told.append,
            has_catalogue=self.has_catalogue,
        )
        self.fleet.follow(
            on_swap=lambda models: self.swaps.append(self.fleet.current().generation),
            on_instance=self.seen.append,
            on_documents=lambda: None,
        )

    def apply(self, *texts: str) -> None:
        """Put these documents in force; all others are gone."""
        self.documents = documents_of(*texts, before=self.documents)
        self.put(self.documents)

    def put(self, documents: Documents) -> None:
        """Put documents in force as they are."""
        asyncio.run(self.fleet.apply(documents))

    def enlist(self, *registrations: Registration) -> None:
        """Let the catalogue list these for the one service there is."""
        known = self.fleet.choice.listings.get(SERVICE, Listing(SERVICE))
        self.show({SERVICE: take(known, registrations, went_back=False, now=self.clock())})

    def show(self, listings: Mapping[str, Listing]) -> None:
        """Let the catalogue list this."""
        asyncio.run(self.fleet.enlist(listings))

    def kinds(self) -> list[ChangeKind]:
        """What was told since the last time this was asked."""
        kinds = [change.kind for change in self.told]
        self.told.clear()
        return kinds

    def key(self, url: str, version: str = "v1.0.0") -> InstanceKey:
        return (MODEL, version, url)

    def one(self, url: str, version: str = "v1.0.0") -> Tracked:
        """What is known of an instance."""
        return self.fleet.tracked[self.key(url, version)]

    def instance(self, url: str, version: str = "v1.0.0") -> Instance:
        """An instance as routing sees it."""
        return next(one for one in self.view(version).instances if one.url == url)

    def view(self, version: str = "v1.0.0") -> VersionView:
        found = self.fleet.current().version(MODEL, Version.parse(version))
        assert found is not None
        return found

    def ready(self, version: str = "v1.0.0") -> list[str]:
        """URLs of the instances that may get requests."""
        return [one.url for one in self.view(version).ready]

    def probe(
        self,
        url: str,
        observation: Observation | None = None,
        *,
        version: str = "v1.0.0",
        outcome: ProbeOutcome = ProbeOutcome.OK,
        took_s: float = 0.01,
    ) -> None:
        """Let a probe come back that was sent `took_s` ago; without an observation, of the right worker."""
        answer = observation if observation is not None else stated(version=version)
        if outcome is not ProbeOutcome.OK and observation is None:
            answer = NO_ANSWER
        started_at = self.clock()
        self.clock.pass_(took_s)
        self.fleet.observe_probe(self.key(url, version), Probe(self.clock(), outcome, took_s, "", answer, started_at))
