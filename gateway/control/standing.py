"""What the states of a version's instances mean for requests: pure, one version at a time.

Under `enforce` an instance is ready only if it is verified and up. Under `observe` identity is watched and reported,
and an instance that answered a probe is ready. Panic uses outliers again and nothing else: identity has no panic.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from contracts.contract import Contract
from contracts.terms import Enforcement, Status
from gateway.control.catalogue import Listed
from gateway.health import identity as identities
from gateway.health.identity import Identity, IdentityState
from gateway.health.liveness import NEW as NEVER_PROBED
from gateway.health.liveness import DownBy, Liveness, LivenessState, ProbeOutcome
from gateway.health.outliers import may_serve, panics
from gateway.health.probe_schedule import QUICK_S
from gateway.routing.snapshot import Instance, Refusal
from gateway.sharing.hearsay import NO_DOUBT, Hearsay
from inference_dna.observation import Observation

InstanceKey = tuple[str, str, str]
"""Model id, printed version, base URL."""

_DRAINING = Refusal("draining", "the version is being taken out of service")
_TAKEN_OUT = "an operator took the instance out (dna undrain brings it back)"


@dataclass(frozen=True, slots=True)
class Probe:
    """The last probe of an instance.

    Attributes:
        at: Monotonic second at which it ended.
        outcome: How it ended.
        seconds: How long it took.
        detail: What went wrong, in words; empty where nothing did.
        observation: What the instance stated.
        started_at: Monotonic second at which it was sent.
    """

    at: float
    outcome: ProbeOutcome
    seconds: float
    detail: str
    observation: Observation
    started_at: float


def like_before(probe: Probe, before: Probe | None) -> Probe:
    """Keep the observation of an earlier probe that stated the same: ten thousand instances do so every few seconds."""
    if before is None or before.observation != probe.observation:
        return probe
    return replace(probe, observation=before.observation)


@dataclass(frozen=True, slots=True)
class Tracked:
    """One instance with everything known of it.

    Attributes:
        instance: As routing sees it.
        contract: The contract it is held to.
        listed: As its contract or the catalogue lists it.
        identity: Identity state.
        liveness: Liveness state.
        probe: The last probe.
        stated: The last probe that said something of identity; judged again when the contract changes.
        hearsay: Who keeps it out, this gateway or others.
    """

    instance: Instance
    contract: Contract
    listed: Listed
    identity: IdentityState = identities.NEW
    liveness: LivenessState = NEVER_PROBED
    probe: Probe | None = None
    stated: Probe | None = None
    hearsay: Hearsay = NO_DOUBT

    @property
    def is_new(self) -> bool:
        """No probe has come back yet."""
        return self.probe is None and self.liveness.down_by is DownBy.NEW

    @property
    def draining(self) -> str:
        """Why it gets no new requests by an operator's wish; empty where nobody wishes that."""
        return _TAKEN_OUT if self.instance.id in self.contract.draining else self.listed.draining


@dataclass(frozen=True, slots=True)
class Head:
    """How many of a version's instances caps and panic count.

    Attributes:
        eligible: Those that identity lets answer.
        up: How many of them are up.
        outliers: How many of them are down as outliers.
    """

    eligible: int
    up: int
    outliers: int

    @property
    def panic(self) -> bool:
        """Outliers are used again."""
        return self.outliers > 0 and panics(self.eligible, self.up)


def shown(one: Tracked, *, panic: bool, now: float) -> Tracked:
    """Show an instance to routing; the very same object where nothing that routing reads changed."""
    seen = stand(one, panic=panic, now=now)
    return one if seen is one.instance else replace(one, instance=seen)


def stand(one: Tracked, *, panic: bool, now: float) -> Instance:
    """Give an instance as routing sees it; the same object as before where nothing that routing reads changed."""
    refusal = refusal_of(one, panic=panic)
    observation = one.stated.observation if one.stated else None
    was_ready = one.instance.refusal is None and one.instance.ready_since > 0.0
    seen = replace(
        one.instance,
        weight=one.listed.weight,
        refusal=refusal,
        verified=one.identity.identity is Identity.VERIFIED,
        dna=one.identity.dna,
        digest=one.identity.digest,
        boot_id=observation.boot_id if observation else None,
        gpu_name=gpu_name(observation.hardware) if observation else None,
        ready_since=0.0 if refusal else (one.instance.ready_since if was_ready else now),
        back_at=_back_at(one) if refusal else None,
    )
    return one.instance if seen == one.instance else seen


def _back_at(one: Tracked) -> float | None:
    """When it may be ready again, where that is known: after its outlier time, or its next probe while suspect."""
    if one.identity.identity is Identity.SUSPECT:
        return one.identity.doubted_at + QUICK_S
    return one.liveness.back_at


def refusal_of(one: Tracked, *, panic: bool) -> Refusal | None:
    """Say why an instance gets no request; None where it may, in the order of routing.md section 1."""
    if one.contract.status is not Status.ACTIVE:
        return _DRAINING
    if not _may_answer(one):
        return Refusal(one.identity.identity.value, _identity_cause(one))
    if one.draining:
        return Refusal(_DRAINING.step, one.draining)
    if not may_serve(one.liveness, panic=panic):
        return Refusal(Liveness.DOWN.value, one.liveness.cause)
    return None


def shown_identity(one: Tracked) -> tuple[Identity, str]:
    """Give identity and reason as people see them: where a contract only observes, nothing is ever ejected."""
    if one.contract.enforcement is Enforcement.OBSERVE and one.identity.identity is not Identity.VERIFIED:
        return Identity.UNVERIFIED, f"observed only: {one.identity.reason}"
    return one.identity.identity, one.identity.reason


def counts_for_caps(one: Tracked) -> bool:
    """Say whether an instance counts for outlier caps and panic: identity lets it answer, and no operator drains it."""
    return _may_answer(one) and not one.draining


def _may_answer(one: Tracked) -> bool:
    """Say whether identity lets an instance answer."""
    return one.identity.identity is Identity.VERIFIED or one.contract.enforcement is Enforcement.OBSERVE


def _identity_cause(one: Tracked) -> str:
    """Why it is not verified; where nothing is known of it, why that is so."""
    never_stated = one.identity == identities.NEW
    return one.liveness.cause if never_stated and one.liveness.cause else one.identity.reason


def gpu_name(hardware: Mapping[str, object] | None) -> str | None:
    """Name the first accelerator of a hardware section; small workers write `gpu_name` or `gpu`."""
    if hardware is None:
        return None
    accelerators = hardware.get("accelerators")
    first = accelerators[0] if isinstance(accelerators, list) and accelerators else None
    names = (first.get("name") if isinstance(first, dict) else None, hardware.get("gpu_name"), hardware.get("gpu"))
    return next((name for name in names if isinstance(name, str) and name), None)
