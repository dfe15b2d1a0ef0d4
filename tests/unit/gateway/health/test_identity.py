"""Design sections 3 and 4, http.md section 2.4: every state with every verdict."""

from __future__ import annotations

import pytest

from contracts.verdict import Verdict, VerdictKind
from gateway.health.identity import NEW, Identity, IdentityState, matches_needed, observe
from inference_dna.observation import NO_ANSWER, Observation

UNVERIFIED, VERIFIED = Identity.UNVERIFIED, Identity.VERIFIED
SUSPECT, EJECTED = Identity.SUSPECT, Identity.EJECTED

DNA, DIGEST = "a1b2c3d49f8e7d6c", "sha256:" + "a" * 64
OTHER_DNA, OTHER_DIGEST = "ffffc3d49f8e7d6c", "sha256:" + "b" * 64
STRIKES = 3

PROBE = Observation(200, status="ok", dna=DNA, digest=DIGEST, assurance="full-hash")
DRIFTED = Observation(200, status="ok", dna=OTHER_DNA, digest=OTHER_DIGEST, assurance="full-hash")

REASONS = {
    VerdictKind.ABSENT: "no_answer",
    VerdictKind.INCOMPARABLE: "not_ready",
    VerdictKind.MISMATCH: "digest_differs",
    VerdictKind.MATCH: "digest_equal",
    VerdictKind.SUSPECT: "label_near",
}
STATES = {
    "new": NEW,
    "unverified": IdentityState(UNVERIFIED, "not ready", since=5.0, doubted_at=5.0),
    "verified": IdentityState(VERIFIED, "digest equal", since=5.0, dna=DNA, digest=DIGEST, assurance="full-hash"),
    "suspect-1": IdentityState(SUSPECT, "label near, strike 1 of 3", strikes=1, since=5.0, dna=DNA, doubted_at=5.0),
    "suspect-2": IdentityState(SUSPECT, "label near, strike 2 of 3", strikes=2, since=5.0, dna=DNA, doubted_at=6.0),
    "ejected": IdentityState(EJECTED, "digest differs", since=5.0, dna=DNA, digest=DIGEST, doubted_at=5.0),
    "struck-out": IdentityState(EJECTED, "label near, 3 in a row", strikes=3, since=5.0, dna=DNA, doubted_at=5.0),
}


def verdict(kind: VerdictKind, reason: str | None = None) -> Verdict:
    stated = kind in {VerdictKind.MATCH, VerdictKind.SUSPECT}
    return Verdict(kind, reason or REASONS[kind], assurance="full-hash" if stated else None, distance=None, notes=())


def after(
    state: IdentityState,
    kind: VerdictKind,
    observation: Observation = PROBE,
    *,
    reason: str | None = None,
    started_at: float = 9.5,
    now: float = 10.0,
) -> IdentityState:
    """The state after one observation; everything in `STATES` happened before second 9.5."""
    return observe(state, verdict(kind, reason), observation, strikes=STRIKES, started_at=started_at, now=now)


TABLE = [
    ("new", VerdictKind.ABSENT, UNVERIFIED, "not probed yet"),
    ("new", VerdictKind.INCOMPARABLE, UNVERIFIED, "not ready"),
    ("new", VerdictKind.MISMATCH, EJECTED, "digest differs"),
    ("new", VerdictKind.MATCH, VERIFIED, "digest equal"),
    ("new", VerdictKind.SUSPECT, SUSPECT, "label near, strike 1 of 3"),
    ("unverified", VerdictKind.ABSENT, UNVERIFIED, "not ready"),
    ("unverified", VerdictKind.INCOMPARABLE, UNVERIFIED, "not ready"),
    ("unverified", VerdictKind.MISMATCH, EJECTED, "digest differs"),
    ("unverified", VerdictKind.MATCH, VERIFIED, "digest equal"),
    ("unverified", VerdictKind.SUSPECT, SUSPECT, "label near, strike 1 of 3"),
    ("verified", VerdictKind.ABSENT, VERIFIED, "digest equal"),
    ("verified", VerdictKind.INCOMPARABLE, UNVERIFIED, "not ready"),
    ("verified", VerdictKind.MISMATCH, EJECTED, "digest differs"),
    ("verified", VerdictKind.MATCH, VERIFIED, "digest equal"),
    ("verified", VerdictKind.SUSPECT, SUSPECT, "label near, strike 1 of 3"),
    ("suspect-1", VerdictKind.ABSENT, SUSPECT, "label near, strike 1 of 3"),
    ("suspect-1", VerdictKind.INCOMPARABLE, UNVERIFIED, "not ready"),
    ("suspect-1", VerdictKind.MISMATCH, EJECTED, "digest differs"),
    ("suspect-1", VerdictKind.MATCH, VERIFIED, "digest equal"),
    ("suspect-1", VerdictKind.SUSPECT, SUSPECT, "label near, strike 2 of 3"),
    ("suspect-2", VerdictKind.SUSPECT, EJECTED, "label near, 3 in a row"),
    ("ejected", VerdictKind.ABSENT, EJECTED, "digest differs"),
    ("ejected", VerdictKind.INCOMPARABLE, UNVERIFIED, "not ready"),
    ("ejected", VerdictKind.MISMATCH, EJECTED, "digest differs"),
    ("ejected", VerdictKind.MATCH, VERIFIED, "digest equal"),
    ("ejected", VerdictKind.SUSPECT, EJECTED, "label near, 1 in a row"),
    ("struck-out", VerdictKind.SUSPECT, EJECTED, "label near, 4 in a row"),
]


@pytest.mark.parametrize(("before", "kind", "identity", "reason"), TABLE)
def test_every_state_with_every_verdict(before: str, kind: VerdictKind, identity: Identity, reason: str) -> None:
    state = after(STATES[before], kind)

    assert (state.identity, state.reason) == (identity, reason)


def test_the_table_leaves_no_pair_out() -> None:
    states = {state.identity for state in STATES.values()}

    assert {(STATES[before].identity, kind) for before, kind, *_ in TABLE} == {
        (identity, kind) for identity in states for kind in VerdictKind
    }
    assert states == set(Identity)


@pytest.mark.parametrize("name", STATES)
def test_no_answer_says_nothing_of_identity(name: str) -> None:
    assert after(STATES[name], VerdictKind.ABSENT, NO_ANSWER) is STATES[name]


@pytest.mark.parametrize("strikes", [1, 2, 3, 5])
def test_strikes_in_a_row_eject(strikes: int) -> None:
    state, seen = NEW, []
    for second in range(strikes):
        state = observe(
            state, verdict(VerdictKind.SUSPECT), PROBE, strikes=strikes, started_at=float(second), now=float(second)
        )
        seen.append(state.identity)

    assert seen == [SUSPECT] * (strikes - 1) + [EJECTED]


def test_a_match_between_begins_the_count_anew() -> None:
    matched = after(STATES["suspect-2"], VerdictKind.MATCH)

    assert after(matched, VerdictKind.SUSPECT).reason == "label near, strike 1 of 3"


def test_no_answer_between_does_not_begin_the_count_anew() -> None:
    silent = after(STATES["suspect-2"], VerdictKind.ABSENT, NO_ANSWER)

    assert after(silent, VerdictKind.SUSPECT).identity is EJECTED


@pytest.mark.parametrize("name", ["unverified", "suspect-1", "ejected"])
@pytest.mark.parametrize(("started_at", "admitted"), [(4.9, False), (5.0, True), (5.1, True)])
def test_a_late_match_does_not_admit_again(name: str, started_at: float, admitted: bool) -> None:
    state = after(STATES[name], VerdictKind.MATCH, started_at=started_at)

    assert (state.identity is VERIFIED) is admitted
    assert admitted or state is STATES[name]


def test_a_probe_on_its_way_does_not_undo_what_an_answer_showed() -> None:
    ejected = after(STATES["verified"], VerdictKind.MISMATCH, DRIFTED, started_at=10.0, now=10.2)

    late = after(ejected, VerdictKind.MATCH, started_at=10.1, now=10.3)
    next_probe = after(late, VerdictKind.MATCH, started_at=10.4, now=10.5)

    assert late is ejected
    assert next_probe.identity is VERIFIED


def test_a_late_match_stays_late_after_a_newer_one() -> None:
    ejected = after(STATES["verified"], VerdictKind.MISMATCH, started_at=10.0, now=10.2)
    verified = after(ejected, VerdictKind.MATCH, started_at=10.3, now=10.4)

    assert after(verified, VerdictKind.MATCH, DRIFTED, started_at=10.1, now=10.5) is verified


def test_a_late_not_ready_does_not_hide_a_drift() -> None:
    assert after(STATES["ejected"], VerdictKind.INCOMPARABLE, started_at=4.9) is STATES["ejected"]


def test_a_late_not_ready_takes_a_verified_one_out_all_the_same() -> None:
    verified = after(STATES["ejected"], VerdictKind.MATCH)

    assert after(verified, VerdictKind.INCOMPARABLE, started_at=4.9).identity is UNVERIFIED


@pytest.mark.parametrize("kind", [VerdictKind.MISMATCH, VerdictKind.SUSPECT])
def test_a_late_doubt_counts(kind: VerdictKind) -> None:
    assert after(STATES["verified"], kind, started_at=0.1).identity is not VERIFIED


def test_v8_the_first_observation_against_a_changed_contract_ejects() -> None:
    """By probe or by answer: the state does not ask which."""
    by_probe = after(STATES["verified"], VerdictKind.MISMATCH, PROBE)
    by_answer = after(STATES["verified"], VerdictKind.MISMATCH, Observation(200, dna=DNA, digest=DIGEST))

    assert by_probe.identity is by_answer.identity is EJECTED


def test_v11_each_instance_has_a_state_of_its_own() -> None:
    states = [after(NEW, kind) for kind in (VerdictKind.MATCH, VerdictKind.MISMATCH, VerdictKind.MATCH)]

    assert [state.identity for state in states] == [VERIFIED, EJECTED, VERIFIED]


@pytest.mark.parametrize(
    ("name", "kind", "since"),
    [
        ("verified", VerdictKind.MISMATCH, 10.0),
        ("ejected", VerdictKind.MISMATCH, 5.0),
        ("ejected", VerdictKind.MATCH, 10.0),
        ("suspect-1", VerdictKind.SUSPECT, 5.0),
        ("suspect-2", VerdictKind.SUSPECT, 10.0),
        ("unverified", VerdictKind.INCOMPARABLE, 5.0),
    ],
)
def test_it_says_since_when(name: str, kind: VerdictKind, since: float) -> None:
    assert after(STATES[name], kind).since == since


@pytest.mark.parametrize("kind", [VerdictKind.MATCH, VerdictKind.MISMATCH, VerdictKind.SUSPECT])
def test_it_shows_what_the_instance_stated(kind: VerdictKind) -> None:
    state = after(STATES["verified"], kind, DRIFTED)

    assert (state.dna, state.digest, state.assurance) == (OTHER_DNA, OTHER_DIGEST, "full-hash")


def test_the_assurance_of_a_match_is_the_verdicts() -> None:
    """The weaker of what the worker says and how it could be compared (dna.md section 9)."""
    by_label = Verdict(VerdictKind.MATCH, "label_equal", assurance="label", distance=0, notes=())

    state = observe(NEW, by_label, PROBE, strikes=STRIKES, started_at=1.0, now=1.0)

    assert state.assurance == "label"


@pytest.mark.parametrize(
    ("state", "observation"),
    [
        pytest.param(STATES["verified"], PROBE, id="the-same-probe"),
        pytest.param(STATES["verified"], Observation(200, dna=DNA, digest=DIGEST), id="an-answer"),
        pytest.param(STATES["verified"], Observation(200, dna=DNA[:8] + "00000000"), id="an-answer-to-other-input"),
        pytest.param(STATES["verified"], Observation(200, digest=DIGEST), id="an-answer-without-dna"),
    ],
)
def test_what_is_known_already_gives_the_same_object(state: IdentityState, observation: Observation) -> None:
    assert after(state, VerdictKind.MATCH, observation) is state


@pytest.mark.parametrize(
    "observation",
    [
        pytest.param(DRIFTED, id="a-probe"),
        pytest.param(Observation(200, dna=OTHER_DNA), id="an-answer-with-another-dna"),
        pytest.param(Observation(200, dna=DNA, digest=OTHER_DIGEST), id="an-answer-with-another-digest"),
    ],
)
def test_another_accepted_runtime_is_taken_over(observation: Observation) -> None:
    state = after(STATES["verified"], VerdictKind.MATCH, observation)

    assert state.identity is VERIFIED
    assert (state.dna, state.digest) == (observation.dna, observation.digest)


# a process whose probes match and whose answers do not ---------------------------------------------------------------

BOOTED = Observation(200, status="ok", dna=DNA, digest=DIGEST, assurance="full-hash", boot_id="1")
WRONG_ANSWER = Observation(200, dna=OTHER_DNA, digest=OTHER_DIGEST)


def relapse(state: IdentityState, now: float) -> IdentityState:
    return after(state, VerdictKind.MISMATCH, WRONG_ANSWER, started_at=now, now=now)


def probes_until_verified(state: IdentityState, now: float, probe: Observation = BOOTED) -> tuple[int, IdentityState]:
    for count in range(1, 200):
        state = after(state, VerdictKind.MATCH, probe, started_at=now + count, now=now + count)
        if state.identity is VERIFIED:
            return count, state
    raise AssertionError("never verified")


def test_each_relapse_after_the_second_doubles_the_matching_probes_that_bring_it_back() -> None:
    state, needed = after(NEW, VerdictKind.MATCH, BOOTED), []
    for round_ in range(6):
        state = relapse(state, 1000.0 * (round_ + 1))
        count, state = probes_until_verified(state, 1000.0 * (round_ + 1))
        needed.append(count)

    assert needed == [1, 1, 2, 4, 8, 16]
    assert matches_needed(100) == 64


def test_another_process_begins_anew() -> None:
    state = after(NEW, VerdictKind.MATCH, BOOTED)
    for round_ in range(3):
        state = relapse(state, 1000.0 * (round_ + 1))
        _, state = probes_until_verified(state, 1000.0 * (round_ + 1))
    state = relapse(state, 9000.0)

    restarted = Observation(200, status="ok", dna=DNA, digest=DIGEST, assurance="full-hash", boot_id="2")
    count, state = probes_until_verified(state, 9000.0, restarted)

    assert (count, state.relapses) == (1, 0)


def test_a_probe_that_finds_the_drift_is_no_relapse() -> None:
    state = after(NEW, VerdictKind.MATCH, BOOTED)
    for round_ in range(3):
        now = 1000.0 * (round_ + 1)
        state = after(state, VerdictKind.MISMATCH, DRIFTED, started_at=now, now=now)
        count, state = probes_until_verified(state, now)
        assert count == 1
