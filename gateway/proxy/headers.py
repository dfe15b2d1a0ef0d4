"""Header lines, both ways: what is dropped, what goes on byte for byte, what we add (http.md sections 4.3 and 4.4).

Nothing is passed on as it came: framing, `Host`, forwarding headers and stamps are ours, and a peer cannot use
`Connection` to remove what we add, because ours come last.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import product
from typing import Final

from gateway.proxy.request import Header
from gateway.proxy.said import PLACES, UNREAD

HOP_BY_HOP = frozenset(
    {
        b"connection", b"keep-alive", b"proxy-connection", b"te", b"trailer", b"transfer-encoding", b"upgrade",
        b"http2-settings", b"proxy-authenticate",
    }
)  # fmt: skip

STAMPS = frozenset(
    {
        b"x-inference-dna", b"x-inference-digest", b"x-inference-input-hash", b"x-inference-assurance",
        b"x-inference-format", b"x-model-id", b"x-model-version", b"x-model-requested", b"x-route-reason",
        b"x-route-attempts", b"x-config-generation", b"x-request-id", b"deprecation", b"sunset",
    }
)  # fmt: skip
"""Names the gateway stamps: stripped from what clients and workers send (design section 4, rule 4)."""

_SELECTORS = frozenset({b"x-model-preference", b"x-inference-dna-prefix"})
_FORWARDING = frozenset(
    {
        b"x-forwarded-for",
        b"x-forwarded-proto",
        b"x-forwarded-host",
        b"x-forwarded-port",
        b"forwarded",
        b"x-real-ip",
        b"via",
    }
)
_DROPPED_UPSTREAM = (
    HOP_BY_HOP
    | STAMPS
    | _SELECTORS
    | _FORWARDING
    | {b"host", b"content-length", b"expect", b"proxy-authorization", b"link"}
)
_OURS_DOWNSTREAM = HOP_BY_HOP | STAMPS | {b"content-length", b"x-should-retry"}
_OUR_RELATIONS = re.compile(rb"successor-version|deprecation|sunset", re.IGNORECASE)
"""Relations of `Link` that speak of a version's life: the contract's to say, not a worker's."""


def _spellings(name: bytes) -> set[bytes]:
    """Give a name with every choice of `_` for `-`: CGI-like readers take them for the same (http.md, P14)."""
    first, *others = name.split(b"-")
    return {
        b"".join([first, *(mark + part for mark, part in zip(marks, others, strict=True))])
        for marks in product((b"-", b"_"), repeat=len(others))
    }


_NAMES_NO_LINE: Final = frozenset({b"close", b"keep-alive"})
_DROPPED_DOWNSTREAM = frozenset(spelling for name in _OURS_DOWNSTREAM for spelling in _spellings(name))
"""From a client, names with `_` never get here; a worker's are dropped where they could pass for ours."""


@lru_cache(maxsize=128)
def tokens_of(value: bytes) -> frozenset[bytes]:
    """Give the members of a comma-separated list, in small letters."""
    return frozenset(token.strip(b" \t").lower() for token in value.split(b","))


def named_by_connection(lines: Iterable[tuple[bytes, bytes]]) -> frozenset[bytes]:
    """Give what `Connection` says of these names and values: options, and names it makes hop-by-hop.

    Source: RFC 9110 section 7.6.1.
    """
    values = [value for name, value in lines if name == b"connection"]
    return tokens_of(b",".join(values)) if values else frozenset()


def for_worker(headers: list[Header]) -> bytes:
    """Encode the client's header lines that a worker may see, in order, duplicates kept."""
    dropped = _DROPPED_UPSTREAM | named_by_connection((name, value) for name, _, value in headers)
    return b"".join([b"%b: %b\r\n" % (raw, value) for name, raw, value in headers if name not in dropped])


class AnswerLine:
    """A header line of a worker's answer.

    Attributes:
        name: In small letters.
        value: Without surrounding blanks.
        place: Of the value among those that the gateway reads (`said.py`).
        shown: The line as clients see it; empty where they may not.
    """

    __slots__ = ("name", "place", "shown", "value")

    def __init__(self, raw_name: bytes, value: bytes) -> None:
        self.name = raw_name.lower()
        self.value = value
        self.place = PLACES.get(self.name, UNREAD)
        self.shown = b"" if _is_hidden(self.name, value) else b"%b: %b\r\n" % (raw_name, value)


def _is_hidden(name: bytes, value: bytes) -> bool:
    return name in _DROPPED_DOWNSTREAM or (name == b"link" and _OUR_RELATIONS.search(value) is not None)


def for_client(lines: list[AnswerLine], named: frozenset[bytes]) -> bytes:
    """Join the worker's lines that a client may see, in order, duplicates kept; `named`: by `Connection`."""
    if named <= _NAMES_NO_LINE:
        return b"".join([line.shown for line in lines if line.shown])
    return b"".join([line.shown for line in lines if line.name not in named])
