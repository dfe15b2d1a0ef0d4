"""http.md section 2.3, line by line; routing.md H1, H6 and U2."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from gateway.health.liveness import (
    NEW,
    DownBy,
    ExchangeOutcome,
    Liveness,
    LivenessSettings,
    LivenessState,
    ProbeOutcome,
    answer_outcome,
    observe_exchange,
    observe_probe,
)

UP, DOWN = Liveness.UP, Liveness.DOWN
OK, FAILED, REFUSED = ProbeOutcome.OK, ProbeOutcome.FAILED, ProbeOutcome.REFUSED
Step = ProbeOutcome | ExchangeOutcome

RUNNING = LivenessState(UP)
FAILED_PROBES = LivenessState(DOWN, DownBy.PROBE)
NOTHING_LISTENS = LivenessState(DOWN, DownBy.REFUSED)


def play(
    state: LivenessState, steps: Sequence[Step], *, at: float = 0.0, cap_allows: bool = True, jitter: float = 0.0
) -> LivenessState:
    """Observe the steps one after the other, all in the second `at`."""
    for step in steps:
        if isinstance(step, ProbeOutcome):
            state = observe_probe(state, outcome=step, now=at)
        else:
            state = observe_exchange(state, outcome=step, now=at, cap_allows=cap_allows, jitter=jitter)
    return state


def outlier(at: float = 0.0, *, by: ExchangeOutcome = ExchangeOutcome.FAILED) -> LivenessState:
    return play(RUNNING, [by] * 5, at=at)


@pytest.mark.parametrize(
    ("before", "probes", "after", "down_by"),
    [
        pytest.param(NEW, [], DOWN, DownBy.NEW, id="new-is-down"),
        pytest.param(NEW, [OK], UP, None, id="new-needs-one-pass"),
        pytest.param(NEW, [FAILED], DOWN, DownBy.PROBE, id="new-that-fails-its-first-probe-is-down-by-it"),
        pytest.param(NEW, [FAILED, OK], DOWN, DownBy.PROBE, id="only-the-first-probe-counts-alone"),
        pytest.param(NEW, [FAILED, OK, OK], UP, None, id="after-a-failed-first-probe-two-are-needed"),
        pytest.param(NEW, [REFUSED, OK], DOWN, DownBy.REFUSED, id="refused-first-probe-then-one-pass"),
        pytest.param(NEW, [REFUSED, OK, OK], UP, None, id="refused-first-probe-then-two-passes"),
        pytest.param(RUNNING, [FAILED], UP, None, id="one-failure"),
        pytest.param(RUNNING, [FAILED, FAILED], UP, None, id="two-failures"),
        pytest.param(RUNNING, [FAILED, FAILED, FAILED], DOWN, DownBy.PROBE, id="down-after-three"),
        pytest.param(RUNNING, [FAILED, FAILED, OK, FAILED, FAILED], UP, None, id="only-in-a-row"),
        pytest.param(RUNNING, [REFUSED], DOWN, DownBy.REFUSED, id="refused-is-down-at-once"),
        pytest.param(FAILED_PROBES, [OK], DOWN, DownBy.PROBE, id="one-pass"),
        pytest.param(FAILED_PROBES, [OK, OK], UP, None, id="up-after-two"),
        pytest.param(FAILED_PROBES, [OK, FAILED, OK], DOWN, DownBy.PROBE, id="two-in-a-row"),
        pytest.param(FAILED_PROBES, [OK, REFUSED, OK], DOWN, DownBy.REFUSED, id="refused-begins-anew"),
        pytest.param(NOTHING_LISTENS, [FAILED], DOWN, DownBy.REFUSED, id="still-refused-for-people"),
        pytest.param(NOTHING_LISTENS, [OK, OK], UP, None, id="up-after-a-refusal"),
    ],
)
def test_probes(before: LivenessState, probes: list[ProbeOutcome], after: Liveness, down_by: DownBy | None) -> None:
    state = play(before, probes)

    assert (state.liveness, state.down_by) == (after, down_by)


def test_thresholds_are_settings() -> None:
    settings = LivenessSettings(rise=1, fall=1)

    down = observe_probe(RUNNING, outcome=FAILED, now=1.0, settings=settings)

    assert down.liveness is DOWN
    assert observe_probe(down, outcome=OK, now=2.0, settings=settings).liveness is UP


@pytest.mark.parametrize(
    ("outcomes", "after"),
    [
        pytest.param([ExchangeOutcome.FAILED] * 4, UP, id="four-failures"),
        pytest.param([ExchangeOutcome.FAILED] * 5, DOWN, id="five-failures"),
        pytest.param([ExchangeOutcome.TIMEOUT] * 5, DOWN, id="five-timeouts"),
        pytest.param([ExchangeOutcome.FAILED, ExchangeOutcome.TIMEOUT] * 2 + [ExchangeOutcome.FAILED], DOWN, id="both"),
        pytest.param(
            [*[ExchangeOutcome.FAILED] * 4, ExchangeOutcome.OK, *[ExchangeOutcome.FAILED] * 4], UP, id="only-in-a-row"
        ),
        pytest.param([ExchangeOutcome.IGNORED] * 50, UP, id="ignored-never-count"),
        pytest.param(
            [*[ExchangeOutcome.FAILED] * 4, ExchangeOutcome.IGNORED, ExchangeOutcome.FAILED],
            DOWN,
            id="ignored-is-no-success-either",
        ),
        pytest.param([ExchangeOutcome.OK] * 5, UP, id="successes"),
        pytest.param([ExchangeOutcome.REFUSED], DOWN, id="refused-at-once"),
    ],
)
def test_real_requests(outcomes: list[ExchangeOutcome], after: Liveness) -> None:
    assert play(RUNNING, outcomes).liveness is after


def test_u2_a_refused_connection_is_down_at_once_whatever_the_cap_says() -> None:
    state = play(RUNNING, [ExchangeOutcome.REFUSED], cap_allows=False)

    assert state == LivenessState(DOWN, DownBy.REFUSED)
    assert state.cause == "connection refused"


@pytest.mark.parametrize(
    ("status", "retry_after", "outcome"),
    [
        pytest.param(200, False, ExchangeOutcome.OK, id="success"),
        pytest.param(302, False, ExchangeOutcome.OK, id="redirect"),
        pytest.param(400, False, ExchangeOutcome.IGNORED, id="h6-bad-request"),
        pytest.param(413, False, ExchangeOutcome.IGNORED, id="h6-too-large"),
        pytest.param(422, False, ExchangeOutcome.IGNORED, id="h6-unprocessable"),
        pytest.param(429, True, ExchangeOutcome.IGNORED, id="h6-busy"),
        pytest.param(500, False, ExchangeOutcome.IGNORED, id="its-own-error"),
        pytest.param(502, False, ExchangeOutcome.FAILED, id="bad-gateway"),
        pytest.param(502, True, ExchangeOutcome.FAILED, id="bad-gateway-with-retry-after"),
        pytest.param(503, False, ExchangeOutcome.FAILED, id="unavailable"),
        pytest.param(503, True, ExchangeOutcome.IGNORED, id="overloaded"),
        pytest.param(504, False, ExchangeOutcome.FAILED, id="gateway-timeout"),
    ],
)
def test_answers_are_sorted(status: int, retry_after: bool, outcome: ExchangeOutcome) -> None:
    assert answer_outcome(status, retry_after=retry_after) is outcome


@pytest.mark.parametrize("status", [400, 413, 422, 429])
def test_h6_refusals_of_a_good_worker_have_no_effect(status: int) -> None:
    outcome = answer_outcome(status, retry_after=False)

    assert play(RUNNING, [outcome] * 50) is RUNNING


def test_h6_busy_is_neither_success_nor_failure() -> None:
    almost = play(RUNNING, [ExchangeOutcome.FAILED] * 4)

    assert play(almost, [answer_outcome(429, retry_after=True)]) is almost


def test_a_passing_probe_ends_an_outlier_time() -> None:
    down = outlier(at=100.0)

    assert (down.down_by, down.back_at) == (DownBy.OUTLIER, 130.0)
    assert play(down, [OK], at=101.0).liveness is UP


def test_h1_a_passing_probe_does_not_heal_a_hanging_engine() -> None:
    hanging = outlier(at=100.0, by=ExchangeOutcome.TIMEOUT)

    for second in range(101, 130):
        hanging = play(hanging, [OK], at=float(second))
        assert hanging.liveness is DOWN

    assert hanging.cause == "5 requests in a row failed, timeouts among them"
    assert play(hanging, [OK], at=130.0).liveness is UP


def test_h1_one_timeout_among_the_failures_is_enough_to_hold_it() -> None:
    down = play(RUNNING, [*[ExchangeOutcome.FAILED] * 4, ExchangeOutcome.TIMEOUT], at=100.0)

    assert play(down, [OK], at=129.9).liveness is DOWN


def test_h1_time_alone_brings_nothing_up() -> None:
    hanging = outlier(at=100.0, by=ExchangeOutcome.TIMEOUT)

    assert play(hanging, [FAILED], at=500.0).liveness is DOWN


def test_h1_failed_probes_do_not_shorten_the_time() -> None:
    hanging = play(outlier(at=100.0, by=ExchangeOutcome.TIMEOUT), [FAILED, FAILED, FAILED], at=103.0)

    assert hanging.down_by is DownBy.PROBE
    assert play(hanging, [OK, OK], at=105.0).liveness is DOWN
    assert play(hanging, [OK, OK], at=131.0).liveness is UP


def test_h1_a_refusal_means_that_what_hung_is_gone() -> None:
    restarted = play(outlier(at=100.0, by=ExchangeOutcome.TIMEOUT), [REFUSED], at=103.0)

    assert play(restarted, [OK, OK], at=105.0).liveness is UP


def test_a_success_forgets_the_timeouts_before_it() -> None:
    mended = play(RUNNING, [ExchangeOutcome.TIMEOUT, ExchangeOutcome.OK])

    assert mended == RUNNING
    assert play(mended, [*[ExchangeOutcome.FAILED] * 5, OK], at=1.0).liveness is UP


@pytest.mark.parametrize(
    ("probes", "down_by"),
    [
        pytest.param([FAILED, FAILED], DownBy.OUTLIER, id="two"),
        pytest.param([FAILED, FAILED, FAILED], DownBy.PROBE, id="three"),
        pytest.param([REFUSED], DownBy.REFUSED, id="refused"),
    ],
)
def test_an_outlier_whose_probes_fail_is_no_longer_one_that_panic_may_use(
    probes: list[ProbeOutcome], down_by: DownBy
) -> None:
    state = play(outlier(), probes)

    assert (state.liveness, state.down_by) == (DOWN, down_by)


@pytest.mark.parametrize(
    "outcome", [ExchangeOutcome.OK, ExchangeOutcome.FAILED, ExchangeOutcome.TIMEOUT, ExchangeOutcome.IGNORED]
)
@pytest.mark.parametrize("state", [NEW, FAILED_PROBES, NOTHING_LISTENS, outlier()])
def test_requests_that_end_after_it_went_down_change_nothing(state: LivenessState, outcome: ExchangeOutcome) -> None:
    assert play(state, [outcome] * 9, at=9.0) is state


def test_outlier_times_grow_to_the_cap() -> None:
    lengths, state, now = [], RUNNING, 0.0
    for _ in range(12):
        down = play(state, [ExchangeOutcome.FAILED] * 5, at=now)
        assert down.back_at is not None
        lengths.append(down.back_at - now)
        now += 1.0
        state = play(down, [OK], at=now)

    assert lengths == [30, 60, 90, 120, 150, 180, 210, 240, 270, 300, 300, 300]


@pytest.mark.parametrize(
    ("seconds_up", "length"),
    [
        pytest.param(59.0, 120.0, id="not-yet"),
        pytest.param(60.0, 90.0, id="one-minute-takes-one-off"),
        pytest.param(120.0, 60.0, id="two-minutes-take-two-off"),
        pytest.param(180.0, 30.0, id="three-minutes-forgive-all"),
        pytest.param(9999.0, 30.0, id="never-below-the-first-length"),
    ],
)
def test_outlier_times_decay_while_up(seconds_up: float, length: float) -> None:
    state = LivenessState(UP, outlier_times=3, since=1000.0)

    down = play(state, [ExchangeOutcome.FAILED] * 5, at=1000.0 + seconds_up)

    assert down.back_at == 1000.0 + seconds_up + length


def test_a_refusal_between_keeps_the_count_of_outlier_times() -> None:
    state = play(play(outlier(at=0.0), [REFUSED, OK, OK], at=5.0), [ExchangeOutcome.FAILED] * 5, at=6.0)

    assert state.back_at == 66.0


@pytest.mark.parametrize(("jitter", "back_at"), [(0.0, 30.0), (0.5, 31.5), (1.0, 33.0)])
def test_chance_adds_up_to_a_tenth(jitter: float, back_at: float) -> None:
    assert play(RUNNING, [ExchangeOutcome.FAILED] * 5, jitter=jitter).back_at == pytest.approx(back_at)


def test_chance_is_added_after_the_cap() -> None:
    often = LivenessState(UP, outlier_times=50)

    assert play(often, [ExchangeOutcome.FAILED] * 5, jitter=0.5).back_at == pytest.approx(315.0)


def test_the_cap_keeps_it_up_until_there_is_room() -> None:
    failing = play(RUNNING, [ExchangeOutcome.FAILED] * 9, cap_allows=False)

    assert failing.liveness is UP
    assert play(failing, [ExchangeOutcome.FAILED], cap_allows=True).liveness is DOWN


@pytest.mark.parametrize(
    ("state", "step"),
    [
        pytest.param(RUNNING, OK, id="up-and-passing"),
        pytest.param(RUNNING, ExchangeOutcome.OK, id="up-and-answering"),
        pytest.param(FAILED_PROBES, FAILED, id="down-and-failing"),
        pytest.param(NOTHING_LISTENS, REFUSED, id="down-and-refusing"),
        pytest.param(NOTHING_LISTENS, ExchangeOutcome.REFUSED, id="down-and-refusing-requests"),
    ],
)
def test_nothing_new_gives_the_same_object(state: LivenessState, step: Step) -> None:
    assert play(state, [step], at=50.0) is state


@pytest.mark.parametrize(
    ("state", "cause"),
    [
        pytest.param(RUNNING, "", id="up"),
        pytest.param(NEW, "not probed yet", id="new"),
        pytest.param(FAILED_PROBES, "probes failed", id="probes"),
        pytest.param(NOTHING_LISTENS, "connection refused", id="refused"),
        pytest.param(outlier(), "5 requests in a row failed", id="outlier"),
    ],
)
def test_it_says_why_it_is_down(state: LivenessState, cause: str) -> None:
    assert state.cause == cause


def test_it_says_since_when() -> None:
    down = play(RUNNING, [FAILED, FAILED, FAILED], at=7.0)

    assert down.since == 7.0
    assert play(down, [OK, OK], at=9.0).since == 9.0
