"""Show what is known, as people and programs read it: pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from contracts.contract import Contract
from contracts.faults import Fault
from contracts.terms import Enforcement
from gateway.admin.models import (
    CanaryStatus,
    DocumentStatus,
    FaultStatus,
    InForceStatus,
    InstanceStatus,
    Models,
    ModelStatus,
    ProbeStatus,
    RegistrationFaultStatus,
    RightsStatus,
    ServiceStatus,
    SharingStatus,
    SourceStatus,
    Status,
    VersionStatus,
)
from gateway.control.catalogue import Choice
from gateway.control.documents import SHA_SHOWN, Document, Documents, DocumentState
from gateway.control.oddities import RegistrationFault
from gateway.control.standing import InstanceKey, Probe, Tracked, gpu_name, shown_identity
from gateway.control.watcher import SourceState
from gateway.health.identity import Identity
from gateway.routing.snapshot import Instance, ModelView, Snapshot, VersionView
from gateway.sharing.state import SharingState
from gateway.sources.consul.rights import Rights
from gateway.sources.listing import Listing

_WORST_FIRST = {DocumentState.REJECTED: 0, DocumentState.MISSING: 1, DocumentState.OK: 2}


@dataclass(frozen=True, slots=True)
class Moment:
    """The two clocks, read once, and the moment the process started."""

    now: float
    wall: float
    started: float
    """Epoch second."""

    def ago(self, at: float) -> float:
        """Seconds since a monotonic second."""
        return round(max(0.0, self.now - at), 3)

    def date(self, at: float) -> datetime:
        """The date of a monotonic second."""
        return datetime.fromtimestamp(self.wall - (self.now - at), UTC)


@dataclass(frozen=True, slots=True)
class Seen:
    """What the status is made of, taken at one moment."""

    snapshot: Snapshot
    documents: Documents
    choice: Choice
    tracked: Mapping[InstanceKey, Tracked]
    source: SourceState
    moment: Moment
    sharing: SharingState | None = None
    rights: Rights | None = None


def status_of(
    seen: Seen,
    *,
    gateway: str,
    program: str,
    compiled: bool,
    ready: bool,
    draining: bool,
    in_flight: Callable[[Instance], int],
    signers: Sequence[str] = (),
) -> Status:
    """Show everything, what is amiss first."""
    entries = sorted(seen.documents.entries.values(), key=lambda entry: (_WORST_FIRST[entry.state], entry.key))
    ones = sorted(seen.tracked.values(), key=_order)
    by_identity = Counter(shown_identity(one)[0].value for one in ones)
    by_state = Counter(entry.state.value for entry in entries)
    return Status(
        gateway=gateway,
        program=program,
        compiled=compiled,
        generation=seen.snapshot.generation,
        config_hash=seen.documents.sha,
        signers=list(signers),
        started_at=datetime.fromtimestamp(seen.moment.started, UTC),
        uptime_seconds=round(seen.moment.wall - seen.moment.started, 3),
        ready=ready,
        draining=draining,
        source=source_status(seen.source, seen.moment),
        rights=None if seen.rights is None else RightsStatus(**asdict(seen.rights)),
        sharing=None if seen.sharing is None else SharingStatus(**asdict(seen.sharing)),
        documents_by_state={state.value: by_state[state.value] for state in DocumentState},
        instances_by_identity={identity.value: by_identity[identity.value] for identity in Identity},
        services=_services(seen.choice, seen.moment),
        documents=[_document(entry, seen.choice, is_checked=bool(signers)) for entry in entries],
        instances=[_instance(one, seen.moment, in_flight) for one in ones],
    )


def source_status(source: SourceState, moment: Moment) -> SourceStatus:
    """Show the source."""
    return SourceStatus(
        kind=source.kind,
        place=source.place,
        ok=source.ok,
        problems=list(source.problems),
        last_read_seconds_ago=None if source.last_read_at is None else moment.ago(source.last_read_at),
        last_good_at=None if source.last_good_at is None else datetime.fromtimestamp(source.last_good_at, UTC),
        kept_at=None if source.kept_at is None else datetime.fromtimestamp(source.kept_at, UTC),
        kept_seconds_ago=None if source.kept_at is None else max(0.0, moment.wall - source.kept_at),
    )


def _order(one: Tracked) -> tuple[bool, bool, str, tuple[object, ...], str]:
    """Those in doubt, then those that get no requests, then the rest, by model and version."""
    instance = one.instance
    in_doubt = one.identity.identity in {Identity.EJECTED, Identity.SUSPECT}
    precedence = instance.version.precedence
    return (not in_doubt, instance.refusal is None, instance.model_id, precedence, instance.id)


def _document(entry: Document, choice: Choice, *, is_checked: bool) -> DocumentStatus:
    return DocumentStatus(
        key=entry.key,
        kind=entry.kind,
        origin=entry.origin,
        state=entry.state.value,
        faults=_faults(entry.faults),
        warnings=_faults(entry.warnings),
        in_force=InForceStatus(sha=entry.in_force.sha[:SHA_SHOWN], generation=entry.in_force.generation)
        if entry.in_force
        else None,
        signed_by=_signer(entry) if is_checked else None,
        note=_note(entry, choice),
    )


def _signer(entry: Document) -> str | None:
    """Name the key; what is in force was checked when it was read."""
    signature = entry.in_force.value.signature if entry.in_force else None
    return str(signature["kid"]) if signature else None


def _faults(faults: Iterable[Fault]) -> list[FaultStatus]:
    return [FaultStatus(path=fault.path, message=fault.message) for fault in faults]


def _note(entry: Document, choice: Choice) -> str:
    contract = entry.in_force.value if entry.in_force else None
    if not isinstance(contract, Contract):
        return ""
    if contract.enforcement is Enforcement.OBSERVE:
        return "observe: identity is only watched, nothing is ejected"
    if not contract.instances and not contract.service:
        return "has no instances, so it serves nothing"
    if contract.service and not choice.is_read(contract.service):
        return f"the list of service {contract.service} was not read yet; only --source consul:// reads one"
    return ""


def _instance(one: Tracked, moment: Moment, in_flight: Callable[[Instance], int]) -> InstanceStatus:
    instance, stated = one.instance, one.stated.observation if one.stated else None
    identity, identity_reason = shown_identity(one)
    is_watched = one.contract.enforcement is Enforcement.OBSERVE and identity is not Identity.VERIFIED
    return InstanceStatus(
        id=instance.id,
        url=instance.url,
        address=instance.address,
        model_id=instance.model_id,
        version=str(instance.version),
        ready=instance.refusal is None,
        reason=str(instance.refusal or (identity_reason if is_watched else "")),
        identity=identity.value,
        identity_reason=identity_reason,
        strikes=one.identity.strikes,
        liveness=one.liveness.liveness.value,
        liveness_reason=one.liveness.cause,
        dna=one.identity.dna,
        digest=one.identity.digest,
        assurance=one.identity.assurance,
        enforcement=one.contract.enforcement.value,
        gpu=gpu_name(stated.hardware) if stated else None,
        boot_id=instance.boot_id,
        in_flight=in_flight(instance),
        max_in_flight=instance.max_in_flight,
        weight=instance.weight,
        draining=one.draining,
        registration=one.listed.registration,
        registered_dna=one.listed.dna,
        last_probe=_probe(one.probe, moment) if one.probe else None,
    )


def _probe(probe: Probe, moment: Moment) -> ProbeStatus:
    return ProbeStatus(
        at=moment.date(probe.at),
        seconds_ago=moment.ago(probe.at),
        outcome=probe.outcome.value,
        detail=probe.detail,
        http_status=probe.observation.http,
        duration_ms=round(probe.seconds * 1000, 3),
    )


def _services(choice: Choice, moment: Moment) -> list[ServiceStatus]:
    """Show every service that contracts name, those with something amiss first."""
    by_service: defaultdict[str, list[RegistrationFault]] = defaultdict(list)
    for fault in choice.faults:
        by_service[fault.service].append(fault)
    services = [_service(listing, by_service[listing.service], moment) for listing in choice.listings.values()]
    return sorted(services, key=lambda one: (one.ok and not one.faults, one.service))


def _service(listing: Listing, faults: Iterable[RegistrationFault], moment: Moment) -> ServiceStatus:
    return ServiceStatus(
        service=listing.service,
        ok=not listing.problem,
        problem=listing.problem,
        last_read_seconds_ago=None if listing.read_at is None else moment.ago(listing.read_at),
        registrations=len(listing.registrations),
        kept=len(listing.kept),
        faults=[
            RegistrationFaultStatus(
                registration=fault.registration, address=fault.shown, oddity=fault.oddity.value, message=fault.message
            )
            for fault in faults
        ],
    )


# models ---------------------------------------------------------------------------------------------------------------


def models_of(snapshot: Snapshot) -> Models:
    """Show every model with its versions and route."""
    models = sorted(snapshot.models.values(), key=lambda model: model.model_id)
    return Models(generation=snapshot.generation, models=[_model(model) for model in models])


def _model(model: ModelView) -> ModelStatus:
    route = model.route
    return ModelStatus(
        model_id=model.model_id,
        default=route.default.text if route and route.default else None,
        aliases={name: selector.text for name, selector in route.aliases.items()} if route else {},
        canary_rules=[
            CanaryStatus(
                version=str(rule.version), traffic_percentage=rule.traffic_percentage, dna_prefix=rule.dna_prefix
            )
            for rule in (route.canary_rules if route else ())
        ],
        versions=[_version(view) for view in model.ranked],
    )


def _version(view: VersionView) -> VersionStatus:
    contract = view.contract
    return VersionStatus(
        version=str(view.version),
        status=contract.status.value,
        enforcement=contract.enforcement.value,
        instances=len(view.instances),
        ready=len(view.ready),
        tied=view.tied,
        deprecated_at=contract.deprecated_at,
        sunset_at=contract.sunset_at,
        successor=str(contract.successor) if contract.successor else None,
    )
