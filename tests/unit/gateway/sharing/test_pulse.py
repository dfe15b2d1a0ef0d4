"""Beats: judged by the observer's clock alone; everybody is watched by a few."""

from __future__ import annotations

from collections import Counter

from gateway.sharing.names import gateway_of, is_member_name, member_name
from gateway.sharing.pulse import PATIENCE_S, WATCHERS, feel, watched_by


def test_a_beat_that_moves_is_alive_whatever_it_says() -> None:
    pulse = feel(None, "7", now=100.0)
    assert feel(pulse, "7", now=104.0) is pulse
    assert not pulse.is_dead(100.0 + PATIENCE_S)
    assert pulse.is_dead(100.1 + PATIENCE_S)

    moved = feel(pulse, "3", now=106.0)  # a restored Consul may show an older beat: it moved all the same
    assert not moved.is_dead(106.0 + PATIENCE_S)


def test_a_beat_that_was_never_there_is_dead_in_time() -> None:
    assert feel(None, None, now=1.0).is_dead(1.1 + PATIENCE_S)


def test_everybody_is_watched_by_so_many_others() -> None:
    members = [f"g{number}" for number in range(20)]
    watchers = Counter(watched for me in members for watched in watched_by(me, members))

    assert watchers == dict.fromkeys(members, WATCHERS)
    assert all(me not in watched_by(me, members) for me in members)


def test_two_watch_each_other_and_one_nobody() -> None:
    assert watched_by("a", ["a", "b"]) == ("b",)
    assert watched_by("a", ["a"]) == ()


def test_what_is_no_name_is_told_apart() -> None:
    assert is_member_name(member_name("gw 1", "0a"))
    assert not any(map(is_member_name, ["", "gw", "a~1~2", "a b~1", "a/b~1", "a~", "\x1b[1m~1", "x" * 300 + "~1"]))


def test_names_fit_keys_and_are_read_back() -> None:
    assert member_name("gw-1.example", "0a") == "gw-1.example~0a"
    assert gateway_of("gw-1.example~0a") == "gw-1.example"
    assert member_name("a/b?~é", "1") == "a_b___~1"
    assert len(member_name("x" * 500, "1")) == 102
