"""The contract: what one version of one model promises, and on what terms it is served (design section 6)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from itertools import chain
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PrivateAttr

from contracts.accepted import Accepted, AcceptedDna
from contracts.crosswise import contract_faults
from contracts.faults import DocumentRefused, Fault, quoted
from contracts.field_types import BaseUrl, HealthUrl, Instant, ModelId, SchemaVersion, Text, VersionText
from contracts.key import DocumentKey
from contracts.promise import Promise
from contracts.reading import read
from contracts.signature import signature_faults
from contracts.terms import Enforcement, Limits, Status, Timeouts, Verification
from contracts.validation import validate
from inference_dna.assurance import Assurance
from inference_dna.trust.keys import TrustedKey

_EVIDENCE = re.compile(r"(?:framework|hardware|postprocess|tokenizer|weights)\.[A-Za-z0-9_-]+")
_SERVICE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_INSTANCE = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[^\s/:@\[\]]+):[0-9]{1,5}(?:/\S*)?")


def _evidence_member(text: str) -> str:
    if not _EVIDENCE.fullmatch(text):
        raise ValueError(f"{quoted(text)} names no evidence; write section.member, like hardware.driver_version.")
    return text


def _service_name(text: str) -> str:
    if not _SERVICE.fullmatch(text):
        raise ValueError(f"{quoted(text)} is no service name; write letters, digits and . _ -")
    return text


def _instance_name(text: str) -> str:
    if not _INSTANCE.fullmatch(text):
        raise ValueError(
            f"{quoted(text)} is no instance; write host:port as `dna status` shows it, like 10.0.0.7:8000."
        )
    return text


def _sorted(members: tuple[str, ...]) -> tuple[str, ...]:
    # The genome hashes them in this order (dna.md section 1); a person may write them in any.
    return tuple(sorted(members))


EvidenceMember: TypeAlias = Annotated[Text, AfterValidator(_evidence_member)]
InstanceName: TypeAlias = Annotated[Text, AfterValidator(_instance_name)]
ServiceName: TypeAlias = Annotated[Text, AfterValidator(_service_name)]


class Contract(BaseModel):
    """One contract document. Immutable; everything but model and version has a default."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model_id: ModelId
    version: VersionText
    promise: Annotated[Promise, Field(alias="contract")] = Promise()
    status: Status = Status.ACTIVE
    deprecated_at: Instant | None = None
    sunset_at: Instant | None = None
    successor: VersionText | None = None
    dna: tuple[AcceptedDna, ...] = ()
    enforcement: Enforcement = Enforcement.ENFORCE
    verification: Verification = Verification.RESPONSE
    instances: tuple[BaseUrl, ...] = ()
    """Base URLs in one spelling each: small letters, no default port, no slash at the end."""
    service: ServiceName | None = None
    """Consul service whose instances belong to this version by `Meta.version`."""
    draining: tuple[InstanceName, ...] = ()
    """Instances that get no new requests by an operator's wish, as people see them: `host:port`."""
    health_url: HealthUrl | None = None
    """Where instances are probed; `contracts.address.health_address` reads it."""
    protocol: Literal["http"] = "http"
    retries: Annotated[int, Field(strict=True, ge=0, le=1)] = 1
    """0: a request is never sent twice."""
    bind: Annotated[tuple[EvidenceMember, ...], AfterValidator(_sorted)] = ()
    min_assurance: Assurance = Assurance.DECLARED
    max_dna_distance: Annotated[int, Field(strict=True, ge=0, le=7)] = 2
    strikes: Annotated[int, Field(strict=True, ge=1, le=100)] = 3
    timeouts: Timeouts = Timeouts()
    limits: Limits = Limits()
    signature: dict[str, Any] | None = None
    schema_version: Annotated[SchemaVersion, Field(alias="schema")] = "1"
    editor_schema: Annotated[Text | None, Field(alias="$schema")] = None
    """For editors that read it; without effect here."""

    _warnings: tuple[Fault, ...] = PrivateAttr(default=())

    @property
    def warnings(self) -> tuple[Fault, ...]:
        """What the document holds that has no effect."""
        return self._warnings

    @cached_property
    def accepted(self) -> Accepted:
        """The entries of `dna`, arranged for verdicts."""
        return Accepted.of(self.dna)

    @cached_property
    def version_texts(self) -> frozenset[str]:
        """How a worker may write this version: with and without `v`."""
        return frozenset({str(self.version), str(self.version)[1:]})


def parse_contract(
    text: str | bytes, *, key: DocumentKey | None = None, name: str = "", signers: Sequence[TrustedKey] = ()
) -> Contract:
    """Read a contract from JSON or YAML, whole or not at all.

    Args:
        text: The document.
        key: Where it stands; document and key must agree.
        name: What to call it in messages, such as a file's path; the key by default.
        signers: Keys of which one must have signed it; with none it need not be signed.

    Raises:
        DocumentRefused: With every fault of the document.
    """
    try:
        reading = read(text)
        further = chain(contract_faults(reading.value, key), signature_faults("contract", reading.value, signers))
        contract, warnings = validate(Contract, reading, further)
    except DocumentRefused as refused:
        raise DocumentRefused(refused.faults, name or str(key or "")) from refused
    contract._warnings = warnings
    # Made here, so that no request pays for it.
    _ = contract.accepted, contract.version_texts
    return contract
