"""The rules of reading Consul (reference page `consul`, section 3), pure: what was known and a reply in, a step out.

The loop around these rules only waits and calls. Nothing here reads a clock or draws a lot.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from gateway.sources.consul.failed import FailureKind
from gateway.sources.consul.replies import Consistency, Reply

FIRST_DELAY_S = 0.5
MOST_DELAY_S = 30.0
MOST_SILENT_DELAY_S = 5.0
"""Where nobody answers at all there is no server to spare, and a network that is whole again is to be found soon. A
fleet comes back spread over this time, as it starts."""
BUSY_DELAY_S = 1.0
"""The least delay where Consul said that it has too much to do."""
MOST_CONTACT_MS = 60_000
"""A server that heard of the leader longer ago than this is not fresh."""

_OK, _NOT_FOUND = 200, 404
_SILENT = {FailureKind.UNREACHABLE, FailureKind.TIMEOUT}


class Oddity(StrEnum):
    """What is odd about a reply that is no failure; a label of the metric."""

    INDEX_BACK = "index_back"
    NO_INDEX = "no_index"
    FILTERED = "shorter"
    SAME_INDEX = "same_index"


@dataclass(frozen=True, slots=True)
class Known:
    """What earlier reads left.

    Attributes:
        index: To wait after in the next read; None: ask at once.
        seen: The last index that came.
        digest: Of the content that came last; None before the first.
        failures: In a row.
        consistency: Who is to answer next. Any server may, as a rule: a fleet that starts at once is no burden to the
            leader then, and a leader that hangs holds nobody up. A server that is behind has the leader asked next.
    """

    index: int | None = None
    seen: int | None = None
    digest: str | None = None
    failures: int = 0
    consistency: Consistency = Consistency.STALE


@dataclass(frozen=True, slots=True)
class Step:
    """What follows from one read.

    Attributes:
        known: For the next read.
        good: The reply may be used.
        news: Its content is another than before.
        delay_s: Before the next read, beside the pace.
        fresh: The server has a leader and lately heard of it.
        oddity: What is odd about it.
    """

    known: Known
    good: bool
    news: bool = False
    delay_s: float = 0.0
    fresh: bool = True
    oddity: Oddity | None = None


def after_reply(known: Known, reply: Reply, digest: str, *, draw: float) -> Step:
    """Decide what a reply means.

    Args:
        known: What earlier reads left; `known.index` is what this read asked with.
        reply: Of status 200 or 404; `after_failure` is for all others.
        digest: Of its body: a return is not a change.
        draw: Uniform in [0, 1).

    Returns:
        The step. A reply that was shortened for the token's rights is not good, and neither is one whose index is below
        the one that was waited for: the next read goes without an index and tells the truth.
    """
    if reply.filtered:
        return replace(after_failure(known, FailureKind.DENIED, draw=draw), oddity=Oddity.FILTERED)
    index = max(reply.index or 1, 1)
    is_back = known.seen is not None and index < known.seen
    if is_back and known.index is not None:
        return Step(replace(known, index=None), good=False, oddity=Oddity.INDEX_BACK)
    news = digest != known.digest
    fresh = reply.known_leader and reply.last_contact_ms <= MOST_CONTACT_MS
    after = Known(
        index=_wait_after(known, index) if fresh else None,
        seen=index,
        digest=digest,
        failures=0 if fresh else known.failures,
        consistency=Consistency.STALE if fresh else Consistency.DEFAULT,
    )
    return Step(after, good=True, news=news, fresh=fresh, oddity=_oddity(known, reply, index, is_back, news))


def after_failure(known: Known, kind: FailureKind, *, draw: float) -> Step:
    """Decide how to go on after a read that gave nothing usable: later, and without an index.

    The delay doubles from half a second to half a minute with full jitter, so that a fleet does not come back as one;
    while nobody answers at all, to five seconds. The next read goes to any server: one that lost its leader answers
    that, too.
    """
    most = min(MOST_SILENT_DELAY_S if kind in _SILENT else MOST_DELAY_S, FIRST_DELAY_S * 2 ** min(known.failures, 10))
    delay = draw * most
    if kind is FailureKind.BUSY:
        delay = BUSY_DELAY_S + draw * (min(MOST_DELAY_S, 2 * most) - BUSY_DELAY_S)
    after = replace(known, index=None, failures=known.failures + 1, consistency=Consistency.STALE)
    return Step(after, good=False, delay_s=delay, fresh=False)


def is_readable(status: int) -> bool:
    """Say whether a reply of this status holds content and an index; a 500 may carry an index that means nothing."""
    return status in (_OK, _NOT_FOUND)


def _wait_after(known: Known, index: int) -> int | None:
    """Choose the next index. One that did not grow may hide a restore, which only a read without an index shows."""
    return None if known.index is not None and index <= known.index else index


def _oddity(known: Known, reply: Reply, index: int, is_back: bool, news: bool) -> Oddity | None:
    if is_back:
        return Oddity.INDEX_BACK
    if not reply.index:
        return Oddity.NO_INDEX
    if news and known.digest is not None and index == known.seen:
        return Oddity.SAME_INDEX
    return None
