"""The member `contract` of a contract document: what goes in, what comes out, on what machine, how it behaves."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from contracts.field_types import Text
from contracts.hardware import HardwareRequirements
from contracts.schemas import JsonSchema, read_schema


class BehavioralConstraints(BaseModel):
    """What answers may be relied on to do."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_input_length: Annotated[int, Field(strict=True, ge=1)] | None = None
    deterministic: Annotated[bool, Field(strict=True)] | None = None
    allowed_tokenizers: tuple[Text, ...] = ()


class Promise(BaseModel):
    """Everything the version promises."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input_schema: Annotated[JsonSchema, AfterValidator(read_schema)] | None = None
    """JSON Schema 2020-12, also where the document used the short form."""
    output_schema: Annotated[JsonSchema, AfterValidator(read_schema)] | None = None
    hardware_requirements: HardwareRequirements = HardwareRequirements()
    behavioral_constraints: BehavioralConstraints = BehavioralConstraints()
