"""The rules of reading Consul as a table; the names are the rows of the reference page `consul`, section 6."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.sources.consul.failed import FailureKind
from gateway.sources.consul.reads import (
    MOST_CONTACT_MS,
    MOST_DELAY_S,
    MOST_SILENT_DELAY_S,
    Known,
    Oddity,
    Step,
    after_failure,
    after_reply,
    is_readable,
)
from gateway.sources.consul.replies import Consistency, Reply

DEFAULT, STALE = Consistency.DEFAULT, Consistency.STALE
AT_5 = Known(index=5, seen=5, digest="a")


def step_of(known: Known, digest: str, **reply: Any) -> Step:
    return after_reply(known, Reply(**{"status": 200, "index": 6, **reply}), digest, draw=0.5)


def test_the_first_read_asks_any_server_at_once_and_is_news() -> None:
    first = Known()
    assert (first.index, first.consistency) == (None, STALE)  # W24
    step = step_of(first, "a", index=5)
    assert step == Step(AT_5, good=True, news=True)


@pytest.mark.parametrize(
    ("row", "reply", "digest", "news", "next_index", "oddity"),
    [
        ("an edit", {"index": 6}, "b", True, 6, None),
        ("W3: a foreign write", {"index": 6}, "a", False, 6, None),
        ("W4: the prefix is gone", {"index": 6, "status": 404}, "", True, 6, None),
        ("the wait ran out", {"index": 5}, "a", False, None, None),
        ("W1: woken by a restore, still with the old index", {"index": 5}, "a", False, None, None),
        ("W6: other rights, the same index", {"index": 5}, "b", True, None, Oddity.SAME_INDEX),
    ],
)
def test_replies_to_a_waiting_read(
    row: str, reply: dict[str, Any], digest: str, news: bool, next_index: int | None, oddity: Oddity | None
) -> None:
    step = step_of(AT_5, digest, **reply)
    assert (step.good, step.news, step.known.index, step.oddity) == (True, news, next_index, oddity), row
    assert step.delay_s == 0
    assert step.known.consistency is STALE


def test_w1_an_index_that_went_back_is_read_anew_without_one_and_then_believed() -> None:
    back = step_of(AT_5, "b", index=3)
    assert (back.good, back.news, back.known.index, back.delay_s) == (False, False, None, 0)
    assert back.oddity is Oddity.INDEX_BACK
    plain = step_of(back.known, "b", index=3)
    assert (plain.good, plain.news, plain.known.index, plain.known.seen) == (True, True, 3, 3)
    assert plain.oddity is Oddity.INDEX_BACK
    assert step_of(plain.known, "c", index=4).oddity is None


@pytest.mark.parametrize("index", [None, 0])
def test_w2_no_index_counts_as_one(index: int | None) -> None:
    step = step_of(Known(), "a", index=index)
    assert (step.good, step.news, step.known.index, step.oddity) == (True, True, 1, Oddity.NO_INDEX)
    again = step_of(step.known, "a", index=index)
    assert (again.good, again.news, again.oddity) == (True, False, Oddity.NO_INDEX)


def test_w6_a_reply_that_says_it_was_shortened_is_refused() -> None:
    step = step_of(AT_5, "b", filtered=True)
    assert (step.good, step.news, step.known.digest, step.known.index) == (False, False, "a", None)
    assert step.oddity is Oddity.FILTERED
    assert step.delay_s > 0


SILENT = [FailureKind.UNREACHABLE, FailureKind.TIMEOUT]
ANSWERED = [kind for kind in FailureKind if kind not in {*SILENT, FailureKind.BUSY}]


@pytest.mark.parametrize(
    ("kind", "longest"),
    [*((kind, MOST_DELAY_S) for kind in ANSWERED), *((kind, MOST_SILENT_DELAY_S) for kind in SILENT)],
)
def test_failures_double_their_delay_with_full_jitter_and_ask_without_an_index(
    kind: FailureKind, longest: float
) -> None:
    known, most = AT_5, []
    for _ in range(9):
        assert after_failure(known, kind, draw=0.0).delay_s == 0
        step = after_failure(known, kind, draw=1.0)
        most.append(step.delay_s)
        known = step.known
        assert (step.good, step.news, known.index, known.digest, known.seen) == (False, False, None, "a", 5)
    assert most == [min(delay_s, longest) for delay_s in (0.5, 1, 2, 4, 8, 16, 32, 64, 128)]
    assert step_of(known, "a").known.failures == 0  # any good reply


def test_w7_a_busy_server_gets_at_least_a_second() -> None:
    known = AT_5
    for most in (1, 2, 4, 8, 16, MOST_DELAY_S, MOST_DELAY_S):
        assert after_failure(known, FailureKind.BUSY, draw=0.0).delay_s == 1
        step = after_failure(known, FailureKind.BUSY, draw=1.0)
        assert step.delay_s == most
        known = step.known


def test_w8_without_a_leader_it_is_asked_for_between_reads_of_any_server() -> None:
    old = step_of(AT_5, "a", known_leader=False)
    assert (old.good, old.fresh, old.known.consistency, old.known.index) == (True, False, DEFAULT, None)
    failed = after_failure(old.known, FailureKind.NO_LEADER, draw=0.5)
    assert failed.known.consistency is STALE
    again = step_of(failed.known, "a", known_leader=False)
    assert again.known.failures == 1  # what it says may be old, so the delays do not begin anew
    assert step_of(again.known, "a").known == Known(index=6, seen=6, digest="a")


@pytest.mark.parametrize(
    ("reply", "fresh"),
    [
        ({"known_leader": False}, False),
        ({"last_contact_ms": MOST_CONTACT_MS + 1}, False),
        ({"last_contact_ms": MOST_CONTACT_MS}, True),
        ({}, True),
    ],
)
def test_w17_what_is_not_fresh_is_taken_and_not_called_fresh(reply: dict[str, Any], fresh: bool) -> None:
    step = step_of(AT_5, "b", **reply)
    assert (step.good, step.news, step.fresh) == (True, True, fresh)
    assert step.known.consistency is (STALE if fresh else DEFAULT)


def test_an_index_counts_only_with_200_and_404() -> None:
    assert [status for status in (200, 204, 301, 403, 404, 429, 500, 503) if is_readable(status)] == [200, 404]


def test_headers_are_read_without_trust() -> None:
    headers = {"x-consul-index": "-1", "x-consul-lastcontact": "soon", "x-consul-knownleader": "False"}
    reply = Reply.of(200, headers, b"")
    assert (reply.index, reply.last_contact_ms, reply.known_leader, reply.filtered) == (None, 0, False, False)
    assert Reply.of(200, {"x-consul-results-filtered-by-acls": "true"}, b"").filtered
    assert Reply.of(200, {"x-consul-index": "100"}, b"").index == 100
