"""What Consul answers, as frozen values. Pure: bytes and headers in, values out."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import msgspec

from gateway.sources.consul.failed import ConsulFailed, FailureKind


class Consistency(StrEnum):
    """Who may answer a read."""

    DEFAULT = "default"
    """The leader, or a server that has asked it lately."""
    STALE = "stale"
    """Any server, also without a leader; how far behind it is stands in the reply."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply to a read, whatever its status.

    Attributes:
        status: HTTP status.
        index: `X-Consul-Index`; None where it is absent or no number.
        known_leader: False only where the server says that it knows no leader.
        last_contact_ms: Since the server heard of the leader, in milliseconds; 0 where it does not say.
        filtered: The server says that it left out what the token may not see. Versions before 1.11 never say it.
        body: As it came.
    """

    status: int
    index: int | None = None
    known_leader: bool = True
    last_contact_ms: int = 0
    filtered: bool = False
    body: bytes = b""

    @classmethod
    def of(cls, status: int, headers: Mapping[str, str], body: bytes) -> Reply:
        """Read the headers; names are sought in small letters."""
        return cls(
            status,
            _number(headers.get("x-consul-index")),
            headers.get("x-consul-knownleader", "true").lower() != "false",
            _number(headers.get("x-consul-lastcontact")) or 0,
            headers.get("x-consul-results-filtered-by-acls", "").lower() == "true",
            body,
        )

    def json(self) -> Any:
        """Read the body.

        Raises:
            ConsulFailed: It is not JSON: cut off, or the page of a proxy.
        """
        try:
            return json.loads(self.body)
        except ValueError as error:
            raise _malformed(f"is not JSON: {self.body[:60]!r}") from error


@dataclass(frozen=True, slots=True)
class Entry:
    """One key.

    Attributes:
        key: In full, as Consul has it.
        value: None where the key has none (a folder marker of the Consul UI).
        modify_index: Of its last change; what a check-and-set compares.
        session: Of who holds its lock; None where nobody does.
    """

    key: str
    value: bytes | None
    modify_index: int
    session: str | None = None


@dataclass(frozen=True, slots=True)
class Operation:
    """One step of a transaction.

    Attributes:
        verb: `set`, `cas`, `delete`, `delete-cas`, `check-index`, `check-not-exists`, `lock`, `unlock`.
        key: In full.
        value: For what writes.
        index: The `modify_index` that `cas`, `delete-cas` and `check-index` compare.
        session: For `lock` and `unlock`.
    """

    verb: str
    key: str
    value: bytes | None = None
    index: int | None = None
    session: str | None = None

    def document(self) -> dict[str, Any]:
        """Write it as Consul reads it."""
        step: dict[str, Any] = {"Verb": self.verb, "Key": self.key}
        if self.value is not None:
            step["Value"] = base64.b64encode(self.value).decode("ascii")
        if self.index is not None:
            step["Index"] = self.index
        if self.session is not None:
            step["Session"] = self.session
        return {"KV": step}


@dataclass(frozen=True, slots=True)
class Transaction:
    """What became of a transaction: all of it, or nothing.

    Attributes:
        done: All of it was done.
        refused: Else the positions of the steps that could not be, and why.
    """

    done: bool
    refused: tuple[tuple[int, str], ...] = ()


def entries_of(reply: Reply) -> tuple[Entry, ...]:
    """Read the keys of a reply; 404 holds none.

    Raises:
        ConsulFailed: The body is not what Consul says; none of it may be used.
    """
    if reply.status == 404:
        return ()
    try:
        listed = _ENTRIES.decode(reply.body)
    except (msgspec.MsgspecError, ValueError) as error:
        raise _malformed(f"is no list of keys ({error})") from error
    return tuple(Entry(each.key, each.value, each.modify_index, each.session) for each in listed)


def refusals_of(reply: Reply) -> tuple[tuple[int, str], ...]:
    """Read why a transaction was refused."""
    document = reply.json()
    listed = document.get("Errors") if isinstance(document, dict) else None
    if not isinstance(listed, list):
        raise _malformed("names no errors")
    return tuple((int(item.get("OpIndex", 0)), str(item.get("What", ""))) for item in listed if isinstance(item, dict))


class _Listed(msgspec.Struct, rename="pascal"):
    """A key as Consul writes it; base64 is decoded on the way."""

    key: str
    modify_index: int
    value: bytes | None = None
    session: str | None = None


_ENTRIES = msgspec.json.Decoder(list[_Listed])


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdigit() else None


def _malformed(what: str) -> ConsulFailed:
    return ConsulFailed(FailureKind.MALFORMED, f"Consul's reply {what}; nothing of it is used")
