"""The table of second attempts (http.md section 2.5)."""

from __future__ import annotations

import pytest

from gateway.proxy.attempts import Again, after_failure, after_refused_answer, may_repeat_fresh
from gateway.proxy.upstream import Failure

NO, ANOTHER, BUDGET = Again.NO, Again.ANOTHER_INSTANCE, Again.ANOTHER_IF_BUDGET


@pytest.mark.parametrize(
    ("failure", "with_retries", "without"),
    [
        pytest.param(Failure.REFUSED, ANOTHER, ANOTHER, id="refused-nothing-was-sent"),
        pytest.param(Failure.UNREACHABLE, ANOTHER, ANOTHER, id="no-way-there-nothing-was-sent"),
        pytest.param(Failure.CONNECT_TIMEOUT, BUDGET, BUDGET, id="not-connected-in-time-nothing-was-sent"),
        pytest.param(Failure.NO_SOCKET, NO, NO, id="out-of-sockets-would-fail-everywhere"),
        pytest.param(Failure.STALE, BUDGET, NO, id="stale"),
        pytest.param(Failure.RESET, BUDGET, NO, id="reset-before-a-byte"),
        pytest.param(Failure.MALFORMED, NO, NO, id="malformed"),
        pytest.param(Failure.TRUNCATED, NO, NO, id="truncated"),
    ],
)
def test_after_the_first_attempt(failure: Failure, with_retries: Again, without: Again) -> None:
    assert after_failure(failure, attempts=1, retries=1) is with_retries
    assert after_failure(failure, attempts=1, retries=0) is without


@pytest.mark.parametrize("failure", list(Failure))
def test_there_is_no_third_attempt(failure: Failure) -> None:
    assert after_failure(failure, attempts=2, retries=1) is Again.NO


@pytest.mark.parametrize(
    ("failure", "retries", "repeated", "may"),
    [
        (Failure.STALE, 1, False, True),
        (Failure.STALE, 1, True, False),
        (Failure.STALE, 0, False, False),
        (Failure.RESET, 1, False, False),
        (Failure.REFUSED, 1, False, False),
    ],
)
def test_only_a_stale_connection_is_repeated_fresh_and_once(
    failure: Failure, retries: int, repeated: bool, may: bool
) -> None:
    assert may_repeat_fresh(failure, retries=retries, repeated=repeated) is may


@pytest.mark.parametrize(("attempts", "retries", "again"), [(1, 1, ANOTHER), (2, 1, NO), (1, 0, NO), (2, 0, NO)])
def test_after_an_answer_of_the_wrong_identity(attempts: int, retries: int, again: Again) -> None:
    assert after_refused_answer(attempts=attempts, retries=retries) is again
