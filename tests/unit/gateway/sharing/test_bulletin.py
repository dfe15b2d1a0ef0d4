"""Bulletins: what is written can be read, what does not fit is left out, what changed is found."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.health.identity import Identity
from gateway.sharing.bulletin import (
    ALL_DOUBTS_BYTES,
    ALL_NEWS_BYTES,
    NO_BULLETIN,
    Bulletin,
    BulletinUnreadable,
    news,
    read_bulletin,
    write_bulletin,
)
from gateway.sharing.sighting import Sighting, sighting_of
from tests.support.control import stated


def told(number: int = 0, *, serial: int = 1, identity: Identity = Identity.VERIFIED, seed: str = "a") -> Sighting:
    key = ("m", "v1.0.0", f"http://10.0.0.{number}:8000")
    return sighting_of(key, stated(seed, hardware={"cpu": {"arch": "x"}}), identity, serial=serial)


def bulletin(*sightings: Sighting) -> Bulletin:
    return Bulletin(1, sightings)


def test_what_is_read_is_what_was_written() -> None:
    sightings = [told(1, serial=1), told(2, serial=2, identity=Identity.EJECTED, seed="b")]
    written = write_bulletin(sightings, members=3)

    assert written.left_out == 0
    assert read_bulletin(written.text).sightings == (sightings[1], sightings[0])
    assert read_bulletin(written.text).sightings[0].observation == stated("b", hardware={"cpu": {"arch": "x"}})


def test_doubts_have_room_that_good_news_cannot_take() -> None:
    good = [told(number, serial=number) for number in range(200)]
    doubt = told(250, serial=0, identity=Identity.EJECTED)
    written = write_bulletin([*good, doubt], members=100)

    read = read_bulletin(written.text).sightings
    assert read[0] == doubt
    assert [one.serial for one in read[1:]] == list(range(199, 199 - len(read) + 1, -1))
    assert written.left_out == len(good) + 1 - len(read) > 0


@pytest.mark.parametrize("members", [1, 10, 100, 1000])
def test_all_bulletins_together_stay_below_a_bound(members: int) -> None:
    doubts = [told(number, serial=number, identity=Identity.EJECTED) for number in range(2000)]
    good = [told(number, serial=number) for number in range(2000)]
    size = len(write_bulletin([*doubts, *good], members=members).text)

    assert size * members <= ALL_DOUBTS_BYTES + ALL_NEWS_BYTES + 100 * members
    assert size <= 300 * 1024  # Consul takes no value above 512 KiB


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"[]",
        b'{"schema": 2, "sightings": []}',
        b'{"schema": 1, "sightings": [{"modelId": "m"}]}',
        b'{"schema": 1, "sightings": [NaN]}',
        b"[" * 100_000,
        json.dumps({"schema": 1, "sightings": [{"modelId": 1}]}).encode(),
    ],
)
def test_what_is_no_bulletin_is_refused(text: bytes) -> None:
    with pytest.raises(BulletinUnreadable):
        read_bulletin(text)


@given(st.binary(max_size=200))
def test_no_bytes_do_harm(text: bytes) -> None:
    try:
        assert read_bulletin(text).schema == 1
    except BulletinUnreadable:
        return


def test_a_member_that_is_not_known_is_skipped() -> None:
    document = json.loads(write_bulletin([told()], members=1).text)
    document["sightings"][0]["since"] = 5

    assert read_bulletin(json.dumps(document).encode()).sightings == (told(),)


def test_only_what_is_new_is_told() -> None:
    before = {"b": bulletin(told(1, serial=1)), "c": bulletin(told(2, serial=1))}
    after = {"b": bulletin(told(1, serial=1), told(3, serial=2)), "c": bulletin(told(2, serial=4))}

    assert sorted(news(before, after).told) == [("b", told(3, serial=2)), ("c", told(2, serial=4))]
    assert news(after, after).told == ()


def test_doubts_come_after_good_news() -> None:
    doubt = told(1, identity=Identity.EJECTED)
    after = {"b": bulletin(doubt), "c": bulletin(told(1))}

    assert [by for by, _ in news({}, after).told] == ["c", "b"]


def test_a_doubt_that_is_told_no_more_is_withdrawn_and_good_news_is_not() -> None:
    doubt, good = told(1, identity=Identity.EJECTED), told(2)
    before = {"b": bulletin(doubt, good), "c": bulletin(doubt)}

    assert news(before, {"c": NO_BULLETIN}).withdrawn == (("b", doubt.key), ("c", doubt.key))
    assert news(before, {"b": bulletin(told(1, serial=2)), "c": bulletin(doubt)}).withdrawn == ()
