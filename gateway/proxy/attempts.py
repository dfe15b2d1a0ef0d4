"""May a request be tried again, and where (http.md section 2.5). Decisions only.

| what happened | goes to | budget |
| --- | --- | --- |
| a kept connection was stale: closed before one byte of the answer | the same instance, on a fresh connection | no |
| the head's verdict forbids forwarding | another instance, once | no: the instance leaves rotation |
| not connected: refused, no way there | another instance, once | no: the instance is down at once |
| not connected in time | another instance, once | yes |
| closed before one byte of the answer, on a fresh connection | another instance, once | yes |

Never after a byte went to the client, never after a timeout of an answer, never after a byte of the answer but for its
verdict, never across versions. A contract's `retries: 0` forbids every row in which the request was sent: the last one
sends a request twice that may have begun, since inference changes nothing but the bill.
"""

from __future__ import annotations

from enum import Enum

from gateway.proxy.upstream import Failure

NOT_CONNECTED = frozenset({Failure.REFUSED, Failure.UNREACHABLE})
"""Nothing runs where the instance should be."""
_MOST_ATTEMPTS = 2


class Again(Enum):
    """What to do after a failed attempt."""

    NO = "no"
    ANOTHER_INSTANCE = "another_instance"
    ANOTHER_IF_BUDGET = "another_if_budget"


def may_repeat_fresh(failure: Failure, *, retries: int, repeated: bool) -> bool:
    """Say whether the same instance gets the request once more, over a fresh connection; that counts no attempt.

    Args:
        failure: How the attempt failed.
        retries: The contract's word: 0 = a request is never sent twice.
        repeated: This was done already.
    """
    return failure is Failure.STALE and retries > 0 and not repeated


def after_failure(failure: Failure, *, attempts: int, retries: int) -> Again:
    """Decide after an attempt that failed before a byte went to the client.

    Args:
        failure: How it failed.
        attempts: Attempts made so far, this one included.
        retries: The contract's word: 0 = a request is never sent twice.
    """
    if attempts >= _MOST_ATTEMPTS:
        return Again.NO
    if failure in NOT_CONNECTED:
        return Again.ANOTHER_INSTANCE
    if failure is Failure.CONNECT_TIMEOUT:
        return Again.ANOTHER_IF_BUDGET
    if failure in (Failure.RESET, Failure.STALE) and retries > 0:
        return Again.ANOTHER_IF_BUDGET
    return Again.NO


def after_refused_answer(*, attempts: int, retries: int) -> Again:
    """Decide after an answer whose identity forbids forwarding: nothing of it was forwarded."""
    return Again.ANOTHER_INSTANCE if attempts < _MOST_ATTEMPTS and retries > 0 else Again.NO
