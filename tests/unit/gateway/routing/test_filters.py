"""routing.md section 1: the reasons and their order."""

from __future__ import annotations

import pytest

from gateway.routing.filters import Terms, has_prefix, is_fit, why_not
from tests.support.fleets import A100, H100, busy, served, worker

VERSION = "v2.4.0"


@pytest.mark.parametrize(
    ("status", "refused", "dna", "tried", "count", "reason"),
    [
        pytest.param("active", "", A100, False, 63, None, id="fit"),
        pytest.param("active", "", A100, False, 64, "full: 64 in flight", id="full"),
        pytest.param("active", "", A100, True, 64, "tried: this request was sent there already", id="tried-first"),
        pytest.param("active", "down: probes failed", A100, True, 64, "down: probes failed", id="down-first"),
        pytest.param("active", "draining: by operator", A100, True, 64, "draining: by operator", id="draining-first"),
        pytest.param(
            "active",
            "down: probes failed",
            H100,
            True,
            64,
            "dna_prefix: 7cd8c3d4 does not begin with a1b2",
            id="dna-first",
        ),
        pytest.param(
            "active", "down: x", None, True, 64, "dna_prefix: an unknown DNA does not begin with a1b2", id="no-dna"
        ),
        pytest.param("active", "ejected: x", H100, True, 64, "ejected: x", id="ejected-first"),
        pytest.param("active", "suspect: x", H100, True, 64, "suspect: x", id="suspect-first"),
        pytest.param("active", "unverified", H100, True, 64, "unverified", id="unverified-first"),
        pytest.param(
            "draining",
            "ejected: x",
            H100,
            True,
            64,
            "draining: the version is being taken out of service",
            id="contract-first",
        ),
        pytest.param("retired", "", A100, False, 0, "retired: the version is out of service", id="retired-contract"),
    ],
)
def test_the_first_filter_that_refuses_is_the_reason(
    status: str, refused: str, dna: str | None, tried: bool, count: int, reason: str | None
) -> None:
    instance = worker(VERSION, refused=refused, dna=dna)
    terms = Terms(busy(i_1=count), "a1b2", {instance.key} if tried else ())

    refusal = why_not(served(VERSION, instance, status=status), instance, terms)

    assert (str(refusal) if refusal else None) == reason


@pytest.mark.parametrize(
    ("count", "prefix", "tried", "fit"),
    [
        pytest.param(63, None, (), True, id="nothing-asked"),
        pytest.param(0, "a1b2", (), True, id="its-prefix"),
        pytest.param(0, "a1b3", (), False, id="another-prefix"),
        pytest.param(64, None, (), False, id="full"),
        pytest.param(0, None, ("i-1",), False, id="tried"),
        pytest.param(0, None, ("i-2",), True, id="another-was-tried"),
    ],
)
def test_what_a_request_asks_of_a_ready_instance(
    count: int, prefix: str | None, tried: tuple[str, ...], fit: bool
) -> None:
    assert is_fit(worker(VERSION), count, prefix, [worker(VERSION, name).key for name in tried]) is fit


@pytest.mark.parametrize(("dna", "matches"), [(A100, True), (H100, False), (None, False)])
def test_a_prefix_needs_a_known_dna(dna: str | None, matches: bool) -> None:
    assert has_prefix(worker(VERSION, dna=dna), "a1b2") is matches
