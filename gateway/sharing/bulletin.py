"""The bulletin of one gateway: all it has to tell, in one value that is written and read as a whole.

Everybody reads everybody's bulletin. So that a reading does not grow with the number of gateways, each may write only
its part of a total; doubts have a larger total than good news, and within each the newest come first. What finds no
room is not lost: who hears no good news of an instance probes it, and every answer is checked by whoever relays it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import msgspec

from gateway.sharing.sighting import Sighting, SubjectKey

SCHEMA = 1
MOST_BYTES = 128 * 1024
"""Of the doubts, and of the good news, in one bulletin."""
ALL_DOUBTS_BYTES = 4 * 1024 * 1024
ALL_NEWS_BYTES = 512 * 1024


class BulletinUnreadable(ValueError):
    """A value that is no bulletin; it counts as none."""


class Bulletin(msgspec.Struct, frozen=True):
    """What a gateway tells."""

    schema: int
    sightings: tuple[Sighting, ...]


NO_BULLETIN = Bulletin(SCHEMA, ())
_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(Bulletin)


@dataclass(frozen=True, slots=True)
class Written:
    """A bulletin as text.

    Attributes:
        text: The JSON; empty where there is nothing to tell.
        left_out: How many sightings found no room.
    """

    text: bytes
    left_out: int


def write_bulletin(sightings: Iterable[Sighting], *, members: int) -> Written:
    """Write what there is to tell, as far as one of so many members may."""
    doubts: list[Sighting] = []
    news: list[Sighting] = []
    for sighting in sorted(sightings, key=lambda sighting: -sighting.serial):
        (doubts if sighting.doubts else news).append(sighting)
    fitting = [*_fit(doubts, ALL_DOUBTS_BYTES // max(members, 1)), *_fit(news, ALL_NEWS_BYTES // max(members, 1))]
    text = _ENCODER.encode(Bulletin(SCHEMA, tuple(fitting))) if fitting else b""
    return Written(text, len(doubts) + len(news) - len(fitting))


def _fit(sightings: Iterable[Sighting], room: int) -> Iterator[Sighting]:
    left = min(room, MOST_BYTES)
    for sighting in sightings:
        left -= len(_ENCODER.encode(sighting)) + 1
        if left < 0:
            return
        yield sighting


def read_bulletin(text: bytes) -> Bulletin:
    """Read what another gateway wrote. Members it does not know are skipped.

    Raises:
        BulletinUnreadable: It is no bulletin, or one of another schema.
    """
    try:
        bulletin = _DECODER.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise BulletinUnreadable(f"no bulletin: {error}") from error
    if bulletin.schema != SCHEMA:
        raise BulletinUnreadable(f"schema {bulletin.schema} is not known; this gateway reads {SCHEMA}")
    return bulletin


@dataclass(frozen=True, slots=True)
class News:
    """What changed between two readings of everybody's bulletins.

    Attributes:
        told: Who tells what anew: good news before doubts, so that of both in one reading the doubt stays.
        withdrawn: Whose doubt of which instance stands no more, and nothing was told instead.
    """

    told: tuple[tuple[str, Sighting], ...]
    withdrawn: tuple[tuple[str, SubjectKey], ...]


def news(before: Mapping[str, Bulletin], after: Mapping[str, Bulletin]) -> News:
    """Compare two readings, each by the name of the gateway that wrote."""
    told, withdrawn = [], []
    for gateway in before.keys() | after.keys():
        was, now = before.get(gateway, NO_BULLETIN), after.get(gateway, NO_BULLETIN)
        if was is now or was == now:
            continue
        known = {sighting.key: sighting for sighting in was.sightings}
        stands = {sighting.key: sighting for sighting in now.sightings}
        told += [(gateway, sighting) for key, sighting in stands.items() if _is_other(known.get(key), sighting)]
        withdrawn += [(gateway, key) for key, sighting in known.items() if sighting.doubts and key not in stands]
    return News(tuple(sorted(told, key=lambda one: one[1].doubts)), tuple(sorted(withdrawn)))


def _is_other(known: Sighting | None, sighting: Sighting) -> bool:
    return known is None or known.serial != sighting.serial
