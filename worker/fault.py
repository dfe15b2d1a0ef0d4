"""What is wrong in a request, by the field that has it. Every border that refuses a request speaks in these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FieldFault:
    """One thing that is wrong in a request, by the field that has it; `body` is the whole."""

    field: str
    message: str


class RequestRefused(Exception):
    """A request that is not carried out; the client's fault, field by field (HTTP: 422)."""

    def __init__(self, faults: Sequence[FieldFault]) -> None:
        super().__init__("; ".join(f"{fault.field}: {fault.message}" for fault in faults))
        self.faults = tuple(faults)
