"""Liveness of one instance: is it worth sending a request there now (http.md section 2.3).

The rules of this file:
- Probes count in a row against the state they contradict. A refused connection needs no second proof.
- Failures of real requests in a row make an outlier, which stays down for a time that grows with every repetition.
- A passing probe ends an outlier time, unless timeouts of real requests caused it: an engine can hang behind a
  healthy `/healthz`. Then the time runs out first.
- Liveness never says anything of identity.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final


class Liveness(StrEnum):
    """Whether an instance is worth a request."""

    UP = "up"
    DOWN = "down"


class DownBy(StrEnum):
    """What brought an instance down; panic (outliers.py) uses only outliers again."""

    NEW = "new"
    PROBE = "probe"
    REFUSED = "refused"
    OUTLIER = "outlier"


class ProbeOutcome(StrEnum):
    """How a probe ended, as liveness sees it."""

    OK = "ok"
    REFUSED = "refused"
    FAILED = "failed"


class ExchangeOutcome(StrEnum):
    """How a real request ended, as liveness sees it (`answer_outcome` sorts a worker's status)."""

    OK = "ok"
    REFUSED = "refused"
    FAILED = "failed"
    """502, 504, 503 without `Retry-After`, reset, cut or malformed answer."""
    TIMEOUT = "timeout"
    IGNORED = "ignored"
    """4xx, 429, 503 with `Retry-After`, the client left, identity mismatch: neither success nor failure."""


_OK: Final = ExchangeOutcome.OK


@dataclass(frozen=True, slots=True)
class LivenessSettings:
    """The numbers of http.md section 2.3."""

    rise: int = 2
    """Passing probes in a row that bring an instance up."""
    fall: int = 3
    """Failing probes in a row that bring it down."""
    outlier_failures: int = 5
    """Failures of real requests in a row that make it an outlier."""
    outlier_time_s: float = 30.0
    """Length of the first outlier time; the n-th is n times as long."""
    outlier_time_cap_s: float = 300.0
    outlier_jitter: float = 0.1
    """Share of the outlier time that chance may add, so that gateways do not return together."""
    outlier_decay_s: float = 60.0
    """Every so many seconds up take one outlier time off the count."""


DEFAULTS = LivenessSettings()


@dataclass(frozen=True, slots=True)
class LivenessState:
    """What is known of one instance's liveness."""

    liveness: Liveness
    down_by: DownBy | None = None
    passes: int = 0
    """Passing probes in a row while down."""
    fails: int = 0
    """Failing probes in a row."""
    failures: int = 0
    """Failures of real requests in a row; kept while down, to say why."""
    timed_out: bool = False
    """Timeouts are among `failures`."""
    outlier_times: int = 0
    """How many outlier times it has had, less those that time up has taken off."""
    since: float = 0.0
    """Monotonic second at which `liveness` or `down_by` last changed."""
    back_at: float | None = None
    """Monotonic second at which the outlier time ends."""

    @property
    def cause(self) -> str:
        """Say in words why it is down; empty while up."""
        if self.down_by is None:
            return ""
        if self.down_by is DownBy.OUTLIER:
            return f"{self.failures} requests in a row failed" + (", timeouts among them" if self.timed_out else "")
        return _CAUSES[self.down_by]


NEW = LivenessState(Liveness.DOWN, DownBy.NEW)
_CAUSES = {DownBy.NEW: "not probed yet", DownBy.PROBE: "probes failed", DownBy.REFUSED: "connection refused"}


def answer_outcome(status: int, *, retry_after: bool) -> ExchangeOutcome:
    """Sort a worker's complete answer by its HTTP status; `retry_after`: it carries that header.

    Refusing a request (4xx, 503 with `Retry-After`) or failing at it (500) shows neither a sound nor a broken worker.
    """
    if status < 400:
        return _OK
    if status in {502, 504} or (status == 503 and not retry_after):
        return ExchangeOutcome.FAILED
    return ExchangeOutcome.IGNORED


def observe_probe(
    state: LivenessState, *, outcome: ProbeOutcome, now: float, settings: LivenessSettings = DEFAULTS
) -> LivenessState:
    """Take in one probe; returns the very same object where nothing changed."""
    if outcome is ProbeOutcome.OK:
        return _probe_passed(state, now=now, settings=settings)
    if outcome is ProbeOutcome.REFUSED:
        return _refused(state, now=now)
    return _probe_failed(state, now=now, settings=settings)


def observe_exchange(
    state: LivenessState,
    *,
    outcome: ExchangeOutcome,
    now: float,
    settings: LivenessSettings = DEFAULTS,
    cap_allows: bool,
    jitter: float,
) -> LivenessState:
    """Take in the end of one real request.

    Args:
        state: What was known before.
        outcome: How the request ended.
        now: Monotonic second.
        settings: Thresholds and times.
        cap_allows: Whether one more outlier is allowed now (`outliers.may_go_down`).
        jitter: Uniform in [0, 1).

    Returns:
        The new state; the very same object where nothing changed.
    """
    if outcome is ExchangeOutcome.REFUSED:
        return _refused(state, now=now)
    if outcome is ExchangeOutcome.IGNORED or state.liveness is Liveness.DOWN:
        return state
    if outcome is _OK:
        return replace(state, failures=0, timed_out=False) if state.failures else state
    timed_out = state.timed_out or outcome is ExchangeOutcome.TIMEOUT
    failed = replace(state, failures=state.failures + 1, timed_out=timed_out)
    if failed.failures < settings.outlier_failures or not cap_allows:
        return failed
    return _outlier(failed, now=now, settings=settings, jitter=jitter)


def _probe_passed(state: LivenessState, *, now: float, settings: LivenessSettings) -> LivenessState:
    if state.liveness is Liveness.UP:
        return replace(state, fails=0) if state.fails else state
    needed = settings.rise if state.down_by in {DownBy.PROBE, DownBy.REFUSED} else 1
    passes = min(state.passes + 1, needed)
    if passes < needed or _is_held(state, now=now):
        return replace(state, passes=passes, fails=0)
    return LivenessState(Liveness.UP, outlier_times=state.outlier_times, since=now)


def _probe_failed(state: LivenessState, *, now: float, settings: LivenessSettings) -> LivenessState:
    if state.down_by in {DownBy.PROBE, DownBy.REFUSED}:
        return replace(state, passes=0) if state.passes else state
    fails = state.fails + 1
    if fails < settings.fall and state.down_by is not DownBy.NEW:
        return replace(state, fails=fails, passes=0)
    return replace(state, liveness=Liveness.DOWN, down_by=DownBy.PROBE, passes=0, fails=0, since=now)


def _refused(state: LivenessState, *, now: float) -> LivenessState:
    # What hung is gone with its process: no outlier time is kept for whatever listens there next.
    down = LivenessState(Liveness.DOWN, DownBy.REFUSED, outlier_times=state.outlier_times, since=now)
    return state if replace(down, since=state.since) == state else down


def _outlier(state: LivenessState, *, now: float, settings: LivenessSettings, jitter: float) -> LivenessState:
    decayed = state.outlier_times - int((now - state.since) / settings.outlier_decay_s)
    times = max(decayed, 0) + 1
    length = min(settings.outlier_time_s * times, settings.outlier_time_cap_s)
    return replace(
        state,
        liveness=Liveness.DOWN,
        down_by=DownBy.OUTLIER,
        fails=0,
        outlier_times=times,
        since=now,
        # Chance is added after the cap: times cut to the same length would end together.
        back_at=now + length * (1 + settings.outlier_jitter * jitter),
    )


def _is_held(state: LivenessState, *, now: float) -> bool:
    return state.timed_out and state.back_at is not None and now < state.back_at
