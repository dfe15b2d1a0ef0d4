"""Rendezvous hashing: everybody agrees, shares are even, and a change moves only what it must."""

from __future__ import annotations

import hashlib
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.sharing.division import Division
from gateway.sharing.rendezvous import is_chosen, point, weight
from tests.support.rendezvous import chosen

names = st.lists(st.text(min_size=1, max_size=12), min_size=1, max_size=12, unique=True)
counts = st.integers(1, 4)


@given(names, st.text(max_size=20), counts, st.randoms())
def test_the_order_in_which_members_are_listed_changes_nothing(
    members: list[str], subject: str, count: int, random: Random
) -> None:
    shuffled = random.sample(members, len(members))

    assert chosen(subject, members, count=count) == chosen(subject, shuffled, count=count)
    assert len(chosen(subject, members, count=count)) == min(count, len(members))


@given(names, st.text(max_size=20), counts)
def test_each_member_knows_for_itself_what_all_agree_on(members: list[str], subject: str, count: int) -> None:
    for me in members:
        others = [point(member) for member in members if member != me]
        expected = me in chosen(subject, members, count=count)
        assert is_chosen(point(me), point(subject), others, count=count) is expected


@given(names, st.text(min_size=13, max_size=20), st.text(max_size=20), counts)
def test_who_joins_displaces_nobody_but_one(members: list[str], joiner: str, subject: str, count: int) -> None:
    before = set(chosen(subject, members, count=count))
    after = set(chosen(subject, [*members, joiner], count=count))

    assert after - before <= {joiner}
    assert len(before - after) <= 1
    assert after == before or joiner in after


@given(names, st.text(max_size=20), counts, st.data())
def test_who_leaves_gives_up_only_its_own(members: list[str], subject: str, count: int, data: st.DataObject) -> None:
    leaver = data.draw(st.sampled_from(members))
    before = chosen(subject, members, count=count)
    after = chosen(subject, [member for member in members if member != leaver], count=count)

    kept = [member for member in before if member != leaver]
    assert list(after[: len(kept)]) == kept
    assert after == before or leaver in before


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32), st.integers(4, 40))
def test_shares_are_even(seed: int, size: int) -> None:
    members = [f"gateway-{seed}-{number}" for number in range(size)]
    shares = dict.fromkeys(members, 0)
    for instance in range(1000):
        for member in chosen(f"http://10.0.{instance // 250}.{instance % 250}:8000", members, count=3):
            shares[member] += 1

    even = 1000 * 3 / size
    # Five standard deviations of a share that falls to a member with probability 3/size.
    spread = 5 * (even * (1 - 3 / size)) ** 0.5
    assert all(abs(share - even) <= spread for share in shares.values()), shares


def test_a_weight_is_the_same_on_every_machine() -> None:
    assert point("gateway-a") == int(hashlib.sha256(b"gateway-a").hexdigest()[:16], 16)
    assert weight(point("gateway-a"), point("x")) == 0xA638E48C09DBC470


def test_a_division_says_what_choosing_says() -> None:
    members = [f"g{number}" for number in range(9)]
    keys = [("m", "v1.0.0", f"http://10.0.0.{number}:8000") for number in range(200)]
    divisions = {me: Division(me, members, count=2) for me in members}

    for key in keys:
        mine = {me for me, division in divisions.items() if division.is_mine(key)}
        assert mine == set(chosen("\n".join(key), members, count=2))
    assert sum(division.look_ahead(keys) for division in divisions.values()) == 2 * len(keys)


@pytest.mark.parametrize("members", [(), ("me",), ("me", "other"), ("me", "other", "third")])
def test_everything_falls_to_everybody_where_there_are_few(members: tuple[str, ...]) -> None:
    division = Division("me", members, count=3)

    assert not division.is_divided
    assert division.is_mine(("m", "v1.0.0", "http://10.0.0.1:8000"))
    assert "me" in division.members
