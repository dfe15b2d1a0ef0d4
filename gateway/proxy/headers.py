"""Header lines, both ways: what is dropped, what goes on byte for byte, what we add (http.md sections 4.3 and 4.4).

Nothing is passed on as it came: framing, `Host`, forwarding headers and stamps are ours, and a peer cannot use
`Connection` to remove what we add, because ours come last.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import product

from gateway.proxy.request import Header

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


_PLAIN_CONNECTIONS = frozenset({b"close", b"keep-alive", b"Close", b"Keep-Alive"})
"""Values of `Connection` that name no header line."""
_DROPPED_DOWNSTREAM = frozenset(spelling for name in _OURS_DOWNSTREAM for spelling in _spellings(name))
"""From a client, names with `_` never get here; a worker's are dropped where they could pass for ours."""


def named_by_connection(headers: Iterable[Header]) -> frozenset[bytes]:
    """Give the names that `Connection` declares hop-by-hop (RFC 9110 section 7.6.1), in small letters."""
    values = [value for name, _, value in headers if name == b"connection"]
    if not values:
        return frozenset()
    return frozenset(token.strip().lower() for value in values for token in value.split(b","))


def for_worker(headers: list[Header]) -> bytes:
    """Encode the client's header lines that a worker may see, in order, duplicates kept."""
    return _encode(headers, _DROPPED_UPSTREAM | named_by_connection(headers))


def for_client(headers: list[Header], said: Mapping[bytes, bytes]) -> bytes:
    """Encode the worker's header lines that a client may see, in order, duplicates kept; `said`: values by name."""
    if len(said) != len(headers) or said.get(b"connection", b"close") not in _PLAIN_CONNECTIONS:
        named = named_by_connection(headers)
    else:
        named = frozenset()
    if b"link" in said:
        headers = [line for line in headers if line[0] != b"link" or not _OUR_RELATIONS.search(line[2])]
    return _encode(headers, _DROPPED_DOWNSTREAM | named if named else _DROPPED_DOWNSTREAM)


def _encode(headers: list[Header], dropped: frozenset[bytes]) -> bytes:
    return b"".join([b"%b: %b\r\n" % (raw, value) for name, raw, value in headers if name not in dropped])
