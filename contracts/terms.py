"""The terms on which a version is served: states, checks, times and limits a contract may set."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from contracts.field_types import Seconds


class Status(StrEnum):
    """What an operator wants of a version."""

    ACTIVE = "active"
    DRAINING = "draining"
    RETIRED = "retired"


class Enforcement(StrEnum):
    """Whether a verdict ejects, or is only reported."""

    ENFORCE = "enforce"
    OBSERVE = "observe"


class Verification(StrEnum):
    """Whether every answer must carry a DNA, or only probes do."""

    RESPONSE = "response"
    PROBE = "probe"


class Timeouts(BaseModel):
    """How long one exchange with a worker may take (http.md section 2.1)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    connect_s: Seconds = 1.0
    first_byte_s: Seconds = 300.0
    """Until the head of an answer that is no stream."""
    first_byte_stream_s: Seconds = 60.0
    upstream_gap_s: Seconds = 60.0
    """Between two bytes of an answer."""
    total_s: Seconds = 600.0
    """For one answer that is no stream."""


class Limits(BaseModel):
    """How much one instance and one request may take (http.md section 2.2)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_in_flight: Annotated[int, Field(strict=True, ge=1, le=100_000)] = 64
    """Requests at one time, per instance."""
    max_body_bytes: Annotated[int, Field(strict=True, ge=1, le=2**40)] | None = None
    """Largest request body; the gateway's own limit where it is left out."""
