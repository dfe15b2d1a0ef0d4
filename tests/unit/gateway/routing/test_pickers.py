"""Which instance: the lighter of two drawn, never one that may not."""

from __future__ import annotations

from collections import Counter
from itertools import product

import pytest

from gateway.routing.decision import NoInstance
from gateway.routing.filters import InFlight, Terms, why_not
from gateway.routing.pickers import passed_over, pick, two_of
from gateway.routing.snapshot import Instance, VersionView
from tests.support.fleets import A100, H100, busy, idle, served, unserved, worker

VERSION = "v2.4.0"
DRAWS = [number / 1000 for number in range(1000)]
ALMOST_ONE = 1 - 2**-53


def three() -> VersionView:
    return served(VERSION, *(worker(VERSION, name) for name in ("a", "b", "c")))


def picks(
    view: VersionView,
    in_flight: InFlight = idle,
    *,
    prefix: str | None = None,
    wish: str | None = None,
    excluded: tuple[Instance, ...] = (),
    now: float = 0.0,
) -> Counter[str]:
    """Count who is picked over a thousand draws spread evenly."""
    keys = {instance.key for instance in excluded}
    counts: Counter[str] = Counter()
    for draw in DRAWS:
        picked = pick(view, dna_prefix=prefix, dna_wish=wish, in_flight=in_flight, excluded=keys, draw=draw, now=now)
        assert isinstance(picked, Instance)
        counts[picked.id] += 1
    return counts


@pytest.mark.parametrize("count", [1, 2, 3, 5, 64, 1000, 3001])
@pytest.mark.parametrize("draw", [0.0, 0.1, 1 / 3, 0.5, 0.999, ALMOST_ONE])
def test_two_of_gives_two_places_and_what_is_left_of_the_draw(count: int, draw: float) -> None:
    first, second, rest = two_of(count, draw)

    assert 0 <= first < count
    assert 0 <= second < count
    assert (first == second) is (count == 1)
    assert 0 <= rest < 1


def test_two_of_gives_every_ordered_pair_its_share() -> None:
    pairs = Counter(two_of(4, number / 12_000)[:2] for number in range(12_000))

    assert set(pairs) == {pair for pair in product(range(4), repeat=2) if pair[0] != pair[1]}
    assert all(999 <= count <= 1001 for count in pairs.values())


def test_equals_share_evenly() -> None:
    assert all(320 <= count <= 350 for count in picks(three()).values())


def test_the_lighter_of_two_wins() -> None:
    counts = picks(three(), busy(a=5, b=3, c=1))

    assert counts["a"] == 0
    assert counts["c"] == pytest.approx(667, abs=2)
    assert counts["b"] == pytest.approx(333, abs=2)


def test_load_is_in_flight_for_its_weight() -> None:
    view = served(VERSION, worker(VERSION, "small"), worker(VERSION, "large", weight=4.0))

    assert picks(view, busy(small=1, large=3)) == {"large": 1000}
    assert picks(view, busy(small=1, large=5)) == {"small": 1000}


def test_equals_in_load_share_by_weight() -> None:
    view = served(VERSION, worker(VERSION, "small"), worker(VERSION, "large", weight=4.0))

    assert picks(view)["large"] == pytest.approx(800, abs=2)


def test_an_instance_of_weight_nothing_gets_nothing_beside_another() -> None:
    view = served(VERSION, worker(VERSION, "off", weight=0.0), worker(VERSION, "on"))

    assert picks(view, busy(off=1, on=9)) == {"on": 1000}
    assert picks(view) == {"on": 1000}


@pytest.mark.parametrize(
    ("age", "share"), [(0.0, 0.1 / 1.1), (15.0, 0.55 / 1.55), (29.9, 0.5), (30.0, 0.5), (-5.0, 0.1 / 1.1)]
)
def test_slow_start_gives_a_fresh_instance_its_share_by_and_by(age: float, share: float) -> None:
    view = served(VERSION, worker(VERSION, "warm"), worker(VERSION, "fresh", ready_since=100.0))

    assert picks(view, now=100.0 + age)["fresh"] == pytest.approx(1000 * share, abs=3)


def test_slow_start_holds_under_load() -> None:
    view = served(VERSION, worker(VERSION, "warm"), worker(VERSION, "fresh", ready_since=100.0))

    assert picks(view, busy(warm=9, fresh=1), now=100.0) == {"warm": 1000}
    assert picks(view, busy(warm=9, fresh=1), now=130.0) == {"fresh": 1000}


def test_without_slow_start_a_fresh_instance_counts_in_full() -> None:
    view = served(VERSION, worker(VERSION, "a", ready_since=100.0), worker(VERSION, "b"))

    picked = [
        pick(view, dna_prefix=None, dna_wish=None, in_flight=idle, draw=draw, now=100.0, slow_start_s=0.0)
        for draw in (0.1, 0.6)
    ]

    assert picked == [view.instances[0], view.instances[1]]


def test_a_full_instance_is_never_picked() -> None:
    view = served(VERSION, worker(VERSION, "a", max_in_flight=2), worker(VERSION, "b"), worker(VERSION, "c"))

    assert set(picks(view, busy(a=2))) == {"b", "c"}
    assert set(picks(view, busy(a=2, b=63, c=64))) == {"b"}


def test_v9_an_instance_that_was_tried_is_not_picked_again() -> None:
    view = three()

    assert set(picks(view, excluded=view.instances[:1])) == {"b", "c"}
    assert set(picks(view, excluded=view.instances[:2])) == {"c"}


def test_v11_the_odd_one_is_out_and_two_keep_serving() -> None:
    odd = worker(VERSION, "odd", refused="ejected: digest differs")

    assert set(picks(served(VERSION, worker(VERSION, "a"), odd, worker(VERSION, "b")))) == {"a", "b"}


def test_u1_a_draining_instance_gets_nothing() -> None:
    leaving = worker(VERSION, "leaving", refused="draining: by operator")

    assert set(picks(served(VERSION, leaving, worker(VERSION, "stays")))) == {"stays"}


def test_a_dna_prefix_is_hard() -> None:
    view = served(VERSION, *(worker(VERSION, f"h{n}", dna=H100) for n in range(8)), worker(VERSION, "a", dna=A100))

    assert picks(view, prefix="a1b2") == {"a": 1000}


def wished() -> VersionView:
    return served(
        VERSION,
        worker(VERSION, "same", dna=A100),
        worker(VERSION, "stack", dna="a1b20000" + "0" * 8),
        worker(VERSION, "other", dna=H100),
        worker(VERSION, "mute", dna=None),
    )


def test_a_wish_prefers_the_longest_common_beginning() -> None:
    assert picks(wished(), wish=A100) == {"same": 1000}
    assert picks(wished(), wish="a1b2ffff" + "0" * 8) == {"same": 500, "stack": 500}


def test_a_wish_comes_before_load_and_never_before_room() -> None:
    assert picks(wished(), busy(same=63), wish=A100) == {"same": 1000}
    assert picks(wished(), busy(same=64), wish=A100) == {"stack": 1000}


def test_the_half_of_a_wish_that_names_an_input_counts_for_nothing() -> None:
    view = served(VERSION, worker(VERSION, "a", dna=A100[:8] + "00000000"), worker(VERSION, "b", dna=A100))

    assert picks(view, wish=A100) == {"a": 500, "b": 500}


def test_a_wish_that_nobody_meets_fails_nothing() -> None:
    assert set(picks(wished(), wish="f" * 16)) == {"same", "stack", "other", "mute"}


@pytest.mark.parametrize("wish", ["", "a1b2", "A1B2C3D49F8E7D6C", "not a dna at all"])
def test_a_malformed_wish_is_ignored(wish: str) -> None:
    assert picks(wished(), wish=wish) == picks(wished())


REFUSED = "ejected: digest differs", "down: connection refused", "draining: by operator"


@pytest.mark.parametrize(
    ("view", "status", "code"),
    [
        pytest.param(unserved(VERSION), 503, "no_verified_instance", id="no-instance"),
        pytest.param(served(VERSION, worker(VERSION, refused=REFUSED[0])), 503, "no_verified_instance", id="ejected"),
        pytest.param(served(VERSION, worker(VERSION, refused=REFUSED[1])), 503, "no_instance_up", id="down"),
        pytest.param(served(VERSION, worker(VERSION, refused=REFUSED[2])), 503, "draining", id="draining"),
        pytest.param(served(VERSION, status="draining"), 503, "draining", id="draining-contract"),
        pytest.param(unserved(VERSION, status="draining"), 503, "draining", id="draining-contract-without-instance"),
        pytest.param(served(VERSION, status="retired"), 503, "draining", id="retired-contract"),
        pytest.param(served(VERSION, worker(VERSION, max_in_flight=0)), 429, "saturated", id="full"),
    ],
)
def test_s8_why_there_is_none(view: VersionView, status: int, code: str) -> None:
    missing = pick(view, dna_prefix=None, dna_wish=None, in_flight=idle, draw=0.5, now=0.0)

    assert isinstance(missing, NoInstance)
    assert (missing.status, missing.code) == (status, code)
    assert len(missing.rejected) == len(view.instances)


def test_h5_every_instance_mismatches_and_nothing_is_sent() -> None:
    view = served(VERSION, *(worker(VERSION, name, refused="ejected: digest differs") for name in "abc"))

    missing = pick(view, dna_prefix=None, dna_wish=None, in_flight=idle, draw=0.5, now=0.0)

    assert isinstance(missing, NoInstance)
    assert [(one.instance, one.reason) for one in missing.rejected] == [
        (name, "ejected: digest differs") for name in "abc"
    ]


@pytest.mark.parametrize("wish", [None, A100])
@pytest.mark.parametrize("prefix", [None, "a1b2"])
@pytest.mark.parametrize("tried", [False, True])
@pytest.mark.parametrize("count", [0, 63, 64])
@pytest.mark.parametrize("dna", [A100, H100, None])
@pytest.mark.parametrize("refused", ["", *REFUSED])
def test_picking_and_explaining_agree(
    refused: str, dna: str | None, count: int, tried: bool, prefix: str | None, wish: str | None
) -> None:
    """The short way of the happy path and the filters that give reasons never say different things."""
    instance = worker(VERSION, refused=refused, dna=dna)
    view = served(VERSION, instance)
    keys = {instance.key} if tried else set()

    picked = pick(view, dna_prefix=prefix, dna_wish=wish, in_flight=busy(i_1=count), excluded=keys, draw=0.5, now=0.0)

    refusal = why_not(view, instance, Terms(busy(i_1=count), prefix, keys))
    assert isinstance(picked, Instance) is (refusal is None)
    if isinstance(picked, NoInstance):
        assert [one.reason for one in picked.rejected] == [str(refusal)]


def test_the_others_are_told_why() -> None:
    view = served(
        VERSION,
        worker(VERSION, "picked"),
        worker(VERSION, "equal"),
        worker(VERSION, "loaded"),
        worker(VERSION, "off", weight=0.0),
        worker(VERSION, "full", max_in_flight=2),
        worker(VERSION, "tried"),
        worker(VERSION, "ejected", refused="ejected: digest differs"),
    )

    rejected = passed_over(
        view,
        picked=view.instances[0],
        dna_prefix=None,
        dna_wish=None,
        in_flight=busy(picked=1, equal=1, loaded=2, full=2),
        excluded={view.instances[5].key},
        now=0.0,
    )

    assert {one.instance: one.reason for one in rejected} == {
        "equal": "picker: not drawn",
        "loaded": "scorer: more in flight for its weight",
        "off": "scorer: more in flight for its weight",
        "full": "full: 2 in flight",
        "tried": "tried: this request was sent there already",
        "ejected": "ejected: digest differs",
    }
    assert {one.version for one in rejected} == {VERSION}


def test_those_further_from_the_wish_are_told_so() -> None:
    view = wished()

    rejected = passed_over(
        view, picked=view.instances[0], dna_prefix=None, dna_wish=A100, in_flight=busy(same=5), now=0.0
    )

    assert {one.reason for one in rejected} == {"scorer: shares less of the wished DNA"}
