"""A bucket finds the rule that owns it, or none."""

from __future__ import annotations

import pytest

from contracts.version import Version
from gateway.rollout.assignment import assign
from gateway.routing.snapshot import CanarySlice

V1, V2, V3 = Version(1, 0, 0), Version(2, 0, 0), Version(3, 0, 0)
SLICES = (
    CanarySlice(0.0, 0.05, V1, "a1b2"),
    CanarySlice(0.9, 1.0, V2, None),
    CanarySlice(0.05, 0.05, V3, None),
)


@pytest.mark.parametrize(
    ("bucket", "version"),
    [
        pytest.param(0.0, V1, id="its-lower-end-belongs-to-a-slice"),
        pytest.param(0.0499, V1, id="inside"),
        pytest.param(0.05, None, id="its-upper-end-does-not-and-k5-zero-percent-owns-nothing"),
        pytest.param(0.5, None, id="between-two"),
        pytest.param(0.9, V2, id="the-second-rule"),
        pytest.param(1 - 2**-53, V2, id="the-highest-bucket-there-is"),
    ],
)
def test_a_bucket_belongs_to_at_most_one_rule(bucket: float, version: Version | None) -> None:
    owned = assign(SLICES, bucket=bucket)

    assert (owned.version if owned else None) == version


def test_the_slice_brings_the_rules_dna_prefix() -> None:
    assert assign(SLICES, bucket=0.01) is SLICES[0]


def test_without_rules_the_default_decides() -> None:
    assert assign((), bucket=0.5) is None


@pytest.mark.parametrize("bucket", [0.0, 0.25, 0.5, 1 - 2**-53])
def test_k5_a_hundred_percent_is_everybody(bucket: float) -> None:
    everything = CanarySlice(0.0, 1.0, V1, None)

    assert assign((everything,), bucket=bucket) is everything
