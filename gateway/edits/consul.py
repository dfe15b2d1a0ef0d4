"""Consul as a place of documents. A document and its history's entry are written by one transaction or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from contracts.reading import MAX_BYTES
from gateway.edits.history import (
    HISTORY_ENDING,
    Entry,
    EntryUnreadable,
    Kept,
    Note,
    keep,
    key_of,
    number_of,
    read_entry,
    write_entry,
)
from gateway.edits.order import batches
from gateway.edits.place import Change, Faster, Held, Holding, PlaceFailed
from gateway.sources.consul import replies
from gateway.sources.consul.address import AddressRefused, ConsulAddress
from gateway.sources.consul.client import ConsulClient, ensure_good
from gateway.sources.consul.failed import ConsulFailed, FailureKind
from gateway.sources.consul.registrations import read_registrations
from gateway.sources.consul.replies import Operation, Transaction
from gateway.sources.consul.sorting import NOTHING, sort_out
from gateway.sources.listing import Listing

T = TypeVar("T")

_AT_ONCE = 16
"""Reads of histories under way at one time."""
_TOO_LARGE = 413
_NOT_DONE = frozenset({FailureKind.DENIED, FailureKind.REFUSED, FailureKind.TOO_LARGE, FailureKind.TOKEN})
"""Failures by which Consul says that it did nothing."""


class ConsulPlace:
    """Reads and writes the documents below the prefix of an address, and their history beside it."""

    def __init__(self, address: ConsulAddress) -> None:
        self._address = address
        self.prefix = f"{address.prefix}/"
        """Where documents lie."""
        self._history = f"{address.prefix}{HISTORY_ENDING}/"

    @property
    def name(self) -> str:
        """Where it is."""
        return str(self._address)

    def read(self) -> Holding:
        """Read every document.

        Raises:
            PlaceFailed: Consul cannot be read.
        """
        return _holding(self.prefix, self._ask(lambda client: client.keys(self.prefix)))

    def write(self, changes: Sequence[Change], note: Note) -> None:
        """Write changes in their order, in as few transactions as hold them.

        Raises:
            Faster: A document is not what was read. Its transaction did nothing; earlier ones stay.
            PlaceFailed: Consul cannot be written.
        """
        progress = _Progress()
        try:
            self._ask(lambda client: self._write(client, changes, note, progress))
        except PlaceFailed as failed:
            cause = failed.__cause__
            is_refusal = isinstance(cause, ConsulFailed) and cause.kind in _NOT_DONE
            raise PlaceFailed(f"{failed}; {progress.told(is_refusal=is_refusal)}") from failed

    def listings(self, services: Iterable[str]) -> Mapping[str, Listing]:
        """Read what is registered for services.

        Raises:
            PlaceFailed: Consul cannot be read.
        """
        return {service: self._ask(partial(_listing, service)) for service in services}

    def history(self, key: str) -> tuple[Entry, ...]:
        """Give what is kept of a document, oldest first.

        Raises:
            PlaceFailed: Consul cannot be read.
        """
        return self._ask(lambda client: self._entries(client, key))

    async def _write(self, client: ConsulClient, changes: Sequence[Change], note: Note, progress: _Progress) -> None:
        turn = asyncio.Semaphore(_AT_ONCE)

        async def steps(change: Change) -> _Steps:
            async with turn:
                entries = await self._entries(client, change.key)
            before = change.before.text if change.before else None
            return self._steps(change, keep(entries, before, change.text, note))

        packed = await asyncio.gather(*map(steps, changes))
        for batch in batches(packed, lambda one: len(one.operations), lambda one: one.size):
            operations = [operation for one in batch for operation in one.operations]
            progress.sent = [one.key for one in batch]
            done = await client.transact(operations)
            progress.sent = []
            _raise_refused(batch, operations, done, progress.written)
            progress.written += [one.key for one in batch]

    async def _entries(self, client: ConsulClient, key: str) -> tuple[Entry, ...]:
        below = f"{self._history}{key}/"
        found = await client.keys(below)
        numbered = [(number_of(key, one.key.removeprefix(self._history)), one.value) for one in found]
        readable = sorted((number, value) for number, value in numbered if number is not None and value is not None)
        try:
            return tuple(read_entry(number, value) for number, value in readable)
        except EntryUnreadable as error:
            message = f"{error}; remove that key below {below} (consul kv delete) to go on without it"
            raise PlaceFailed(message) from error

    def _steps(self, change: Change, kept: Kept) -> _Steps:
        below = self._history
        added = [Operation("cas", below + key_of(change.key, one.number), write_entry(one), 0) for one in kept.added]
        dropped = [Operation("delete", below + key_of(change.key, number)) for number in kept.dropped]
        return _Steps(change.key, (*self._document_steps(change), *added, *dropped))

    def _document_steps(self, change: Change) -> list[Operation]:
        key = change.before.origin if change.before else self.prefix + change.key
        index = int(change.before.stamp) if change.before else 0  # 0: only where nothing is there
        if change.text is not None:
            return [Operation("cas", key, change.text, index)]
        # Consul takes a key that is gone already for deleted, whatever index is named.
        return [Operation("check-index", key, index=index), Operation("delete-cas", key, index=index)]

    def _ask(self, call: Callable[[ConsulClient], Awaitable[T]]) -> T:
        """Call Consul once, on a client of its own, and turn its failures into sentences that say what to do."""

        async def asked() -> T:
            client = ConsulClient(self._address)
            try:
                return await call(client)
            finally:
                await client.close()

        try:
            return asyncio.run(asked())
        except (ConsulFailed, AddressRefused) as error:
            raise PlaceFailed(f"{error}{self._advice(error)}") from error

    def _advice(self, error: Exception) -> str:
        kind = error.kind if isinstance(error, ConsulFailed) else None
        if kind in (FailureKind.UNREACHABLE, FailureKind.TIMEOUT):
            return "; say where Consul is: --source consul://HOST:PORT/inference"
        if kind is FailureKind.DENIED and "ACL not found" in str(error):
            return "; name one that it knows: token_file=FILE in --source, or CONSUL_HTTP_TOKEN_FILE"
        if kind is FailureKind.DENIED:
            prefixes = f'key_prefix "{self.prefix}" and key_prefix "{self._history}"'
            return f"; a token that writes needs {prefixes} with policy write (token_file=FILE)"
        if isinstance(error, ConsulFailed) and error.status == _TOO_LARGE:
            return (
                "; a document and its history travel in one transaction, for which Consul's "
                "limit is 512 KiB (limits.txn_max_req_len): make the document smaller, such as by `service` in place "
                "of a list of instances"
            )
        return ""


@dataclass
class _Progress:
    """How far a write came: keys written, and keys under way, of which Consul has not said yet whether they were."""

    written: list[str] = field(default_factory=list)
    sent: list[str] = field(default_factory=list)

    def told(self, *, is_refusal: bool) -> str:
        """Say it for people; a refusal is Consul's word that what was under way was not done."""
        unsure = [] if is_refusal else self.sent
        if not self.written and not unsure:
            return "nothing was written"
        parts = [f"written before that: {', '.join(self.written)}"] if self.written else []
        if unsure:
            parts.append(f"whether it still wrote {', '.join(unsure)}, `dna contract get` shows")
        return "; ".join(parts)


@dataclass(frozen=True, slots=True)
class _Steps:
    """What one change does: its document first, then its history. All in one transaction."""

    key: str
    operations: tuple[Operation, ...]

    @property
    def size(self) -> int:
        """Bytes they need in a transaction, values in base64."""
        return sum(len(one.key) + 150 + (4 * len(one.value) + 2) // 3 for one in self.operations if one.value) + 150


async def _listing(service: str, client: ConsulClient) -> Listing:
    reply = ensure_good(await client.read(f"/v1/health/service/{service}"))
    return Listing(service, read_registrations(reply.body))


def _raise_refused(
    batch: Sequence[_Steps], operations: Sequence[Operation], done: Transaction, written: Sequence[str]
) -> None:
    if done.done:
        return
    refused = {operations[place].key: why for place, why in done.refused}
    faster = [one.key for one in batch if one.operations[0].key in refused]
    if faster:
        raise Faster(faster, written)
    told = "; ".join(f"{key}: {why}" for key, why in refused.items())
    raise PlaceFailed(
        f"an entry of the history is there already and was not seen ({told}); "
        "somebody writes at this moment, or the token may not read the history: try again, then look at its rights"
    )


def _holding(prefix: str, entries: Sequence[replies.Entry]) -> Holding:
    """Tell documents from other keys as gateways do."""
    found = sort_out(entries, prefix, before=NOTHING, known=(), max_document=MAX_BYTES)
    stamps = {entry.key: str(entry.modify_index) for entry in entries}
    held = {key: Held(key, one.text, one.origin, stamps[one.origin]) for key, one in found.documents.items()}
    return Holding(held, found.faults)
