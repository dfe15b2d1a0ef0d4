"""Ask Consul: every call that the gateway and the `dna` command make, each giving a small frozen value.

Every failure, of the network, of Consul or of what came back, is a `ConsulFailed` with a sentence. The token goes in a
header, is read again before each attempt, and shows nowhere.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import httpx

from gateway.printable import printable
from gateway.sources.consul.address import ConsulAddress
from gateway.sources.consul.failed import ConsulFailed, FailureKind
from gateway.sources.consul.replies import (
    Consistency,
    Entry,
    Operation,
    Reply,
    Transaction,
    entries_of,
    refusals_of,
)
from gateway.sources.consul.transport import ConsulCalls, ConsulException, HttpxTransport, RawReply

MAX_BYTES = 16 * 1024 * 1024
"""Longest body of a reply; base64 and JSON make of a document nearly twice its bytes."""
MOST_WAITING = 150
"""Reads that wait for changes at one time; Consul's own limit per client address is 200 connections."""
WAIT_S = 60.0
"""How long a read asks Consul to wait for a change."""

GRACE_S = 10.0
"""A waiting read may take so much longer than Consul's own wait; then its connection is dead."""

_CUT_OFF = "its machine is gone, or the network to it is cut"
_OK, _FORBIDDEN, _NOT_FOUND, _CONFLICT = 200, 403, 404, 409
_BUSY = (429, 503)
_TOKEN_LIMIT = 4096
_SHOWN = 200


class ConsulClient:
    """Asks one Consul.

    Args:
        address: Where it is.
        max_bytes: Longest body of a reply that is read.
        waiting: Reads that wait for changes at one time.

    Raises:
        AddressRefused: The certificates cannot be used.
    """

    def __init__(self, address: ConsulAddress, *, max_bytes: int = MAX_BYTES, waiting: int = MOST_WAITING) -> None:
        self.address = address
        self.calls = 0
        """Calls so far."""
        self._calls = ConsulCalls(HttpxTransport(address, max_bytes=max_bytes, waiting=waiting))

    # reading ----------------------------------------------------------------------------------------------------------

    async def read(
        self,
        path: str,
        params: Mapping[str, str] | None = None,
        *,
        index: int | None = None,
        wait_s: float = WAIT_S,
        consistency: Consistency = Consistency.DEFAULT,
    ) -> Reply:
        """Read a path of the API; with an index, wait until something changed after it.

        Args:
            path: Such as `/v1/kv/inference/` or `/v1/health/service/bert`.
            params: Such as `{"recurse": "1"}`.
            index: `Reply.index` of the last reply; None answers at once.
            wait_s: Longest wait for a change.
            consistency: Who may answer.

        Returns:
            The reply, whatever its status; `ensure_good` turns a bad one into a failure.

        Raises:
            ConsulFailed: No reply came, or one that is too long.
        """
        asked = dict(params or {})
        if consistency is Consistency.STALE:
            asked["stale"] = "1"
        timeout_s = None
        if index is not None:
            asked |= {"index": str(index), "wait": f"{wait_s:g}s"}
            timeout_s = wait_s * 17 / 16 + GRACE_S  # Consul adds up to a sixteenth, so that not all return at once
        return await self._ask("GET", path, asked, timeout_s=timeout_s)

    async def key(self, key: str) -> Entry | None:
        """Read one key from a server that has a leader; None where it is not there.

        Raises:
            ConsulFailed: It cannot be read; `DENIED` where the token may not.
        """
        reply = ensure_good(await self.read(_path(key)), allow_absent=True)
        entries = entries_of(reply)
        if not reply.known_leader:
            raise ConsulFailed(FailureKind.NO_LEADER, "Consul has no leader, so what it says of a key is no proof")
        return entries[0] if entries else None

    async def keys(self, prefix: str) -> tuple[Entry, ...]:
        """Read all keys below a prefix; none where there is nothing, or nothing the token may see.

        Raises:
            ConsulFailed: They cannot be read.
        """
        return entries_of(ensure_good(await self.read(_path(prefix), {"recurse": "1"}), allow_absent=True))

    # writing ----------------------------------------------------------------------------------------------------------

    async def put(self, key: str, value: bytes, *, cas: int | None = None) -> bool:
        """Write a key; say whether it was written.

        Args:
            key: In full.
            value: At most 524,288 bytes.
            cas: Only where its `modify_index` still is this one; 0: only where it is not there yet.

        Raises:
            ConsulFailed: Consul refuses or cannot be reached.
        """
        return await self._put(key, value, {} if cas is None else {"cas": str(cas)})

    async def delete(self, key: str, *, cas: int | None = None) -> bool:
        """Remove a key; say whether that was done. `cas` as for `put`."""
        params = {} if cas is None else {"cas": str(cas)}
        return ensure_good(await self._ask("DELETE", _path(key), params)).json() is True

    async def transact(self, operations: Sequence[Operation]) -> Transaction:
        """Do all of it or nothing; at most 64 operations.

        Raises:
            ConsulFailed: Consul cannot be reached, or the token may not do one of the steps.
        """
        body = json.dumps([operation.document() for operation in operations])
        reply = await self._ask("PUT", "/v1/txn", data=body)
        if reply.status != _CONFLICT:
            ensure_good(reply)
            return Transaction(done=True)
        refused = refusals_of(reply)
        for _, why in refused:
            if "Permission denied" in why or "ACL not found" in why:
                raise ConsulFailed(FailureKind.DENIED, f"Consul refuses the transaction: {why}", status=_FORBIDDEN)
        return Transaction(done=False, refused=refused)

    # sessions ---------------------------------------------------------------------------------------------------------

    async def create_session(self, name: str, *, ttl_s: int, behavior: str = "delete", lock_delay_s: int = 0) -> str:
        """Begin a session; gives its id.

        Args:
            name: For people.
            ttl_s: 10 to 86,400; Consul ends it after one to two of these without a renewal.
            behavior: What becomes of the keys it holds at its end: `delete` or `release`.
            lock_delay_s: How long nobody may take those keys then.
        """
        body = {"Name": name, "TTL": f"{ttl_s}s", "Behavior": behavior, "LockDelay": f"{lock_delay_s}s"}
        document = ensure_good(await self._ask("PUT", "/v1/session/create", data=json.dumps(body))).json()
        session = document.get("ID") if isinstance(document, dict) else None
        if not isinstance(session, str):
            raise ConsulFailed(FailureKind.MALFORMED, "Consul gave a session without an id")
        return session

    async def renew_session(self, session: str) -> bool:
        """Keep a session alive; False where it has ended."""
        reply = await self._ask("PUT", f"/v1/session/renew/{session}")
        if reply.status == _NOT_FOUND:
            return False
        ensure_good(reply)
        return True

    async def destroy_session(self, session: str) -> None:
        """End a session."""
        ensure_good(await self._ask("PUT", f"/v1/session/destroy/{session}"))

    async def acquire(self, key: str, value: bytes, *, session: str) -> bool:
        """Write a key and hold it by a session; False where another session holds it."""
        return await self._put(key, value, {"acquire": session})

    # inside -----------------------------------------------------------------------------------------------------------

    async def close(self) -> None:
        """Close all connections; no call may be under way."""
        await self._calls.http.close()

    async def _put(self, key: str, value: bytes, params: Mapping[str, str]) -> bool:
        return ensure_good(await self._ask("PUT", _path(key), params, data=value)).json() is True

    async def _ask(
        self,
        method: str,
        path: str,
        params: Mapping[str, str] | None = None,
        *,
        data: str | bytes = b"",
        timeout_s: float | None = None,
    ) -> Reply:
        token = await asyncio.to_thread(read_token, self.address)
        places = {"dc": self.address.dc, "ns": self.address.ns}
        asked = [*(params or {}).items(), *((name, value) for name, value in places.items() if value)]
        headers = self._calls.prepare_headers(token)
        http: HttpxTransport = self._calls.http
        self.calls += 1
        try:
            match method:
                case "GET":
                    return await http.get(_reply, path, asked, headers, timeout_s=timeout_s)
                case "PUT":
                    return await http.put(_reply, path, asked, data, headers)
                case _:
                    return await http.delete(_reply, path, asked, data, headers)
        except ConsulFailed:
            raise
        except httpx.TimeoutException as error:
            raise ConsulFailed(FailureKind.TIMEOUT, f"{self.address} did not answer in time") from error
        except (httpx.RemoteProtocolError, httpx.ReadError) as error:
            if isinstance(_innermost(error), TimeoutError):  # the kernel's: nothing acknowledges what it sends
                raise ConsulFailed(FailureKind.TIMEOUT, f"{self.address} is silent: {_CUT_OFF}") from error
            raise ConsulFailed(FailureKind.BUSY, f"{self.address} broke the connection off: {_cause(error)}") from error
        except (httpx.HTTPError, OSError) as error:  # ssl.SSLError comes through as it is
            raise ConsulFailed(FailureKind.UNREACHABLE, f"{self.address} cannot be reached: {_cause(error)}") from error
        except (ConsulException, ValueError) as error:
            raise ConsulFailed(FailureKind.MALFORMED, f"{self.address}: {_cause(error)}") from error


def ensure_good(reply: Reply, *, allow_absent: bool = False) -> Reply:
    """Return the reply where its status is 200, or 404 where `allow_absent`.

    Raises:
        ConsulFailed: Its status is another; the kind says which.
    """
    if reply.status == _OK or (allow_absent and reply.status == _NOT_FOUND):
        return reply
    said = printable(reply.body[:_SHOWN].decode("utf-8", "replace").strip()) or "nothing"
    kind, meaning = _meaning(reply.status, said)
    raise ConsulFailed(kind, f"{meaning} (status {reply.status}: {said})", status=reply.status)


def read_token(address: ConsulAddress) -> str | None:
    """Read the token to use now; None where none is set.

    Raises:
        ConsulFailed: The file cannot be read or holds no token. Going on without one would look like lost rights.
    """
    if address.token_file is None:
        return address.token.value if address.token else None
    try:
        text = Path(address.token_file).read_bytes()[: _TOKEN_LIMIT + 1].decode("ascii").strip()
    except OSError as error:
        message = f"the token file {printable(address.token_file)} cannot be read: {error.strerror}"
        raise ConsulFailed(FailureKind.TOKEN, message) from error
    except UnicodeDecodeError:
        text = ""  # what it holds must not show, not even in part
    if not text or len(text) > _TOKEN_LIMIT or not text.isprintable() or " " in text:
        raise ConsulFailed(
            FailureKind.TOKEN, f"the token file {printable(address.token_file)} does not hold one token, alone"
        )
    return text


def _meaning(status: int, said: str) -> tuple[FailureKind, str]:
    if status == _FORBIDDEN:
        unknown = "ACL not found" in said
        return (
            FailureKind.DENIED,
            "Consul does not know the token" if unknown else "the token may not do this in Consul",
        )
    if status in _BUSY:
        return FailureKind.BUSY, "Consul is busy"
    if "No cluster leader" in said or "rpc error" in said:
        return FailureKind.NO_LEADER, "Consul has no leader"
    if status >= 500:
        return FailureKind.SERVER, "Consul failed"
    return FailureKind.REFUSED, "Consul refuses the call"


def _reply(raw: RawReply) -> Reply:
    return Reply.of(raw.code, raw.headers, raw.body)


def _path(key: str) -> str:
    return f"/v1/kv/{key}"


def _innermost(error: BaseException) -> BaseException:
    inner = error
    while (deeper := inner.__cause__ or inner.__context__) is not None:
        inner = deeper
    return inner


def _cause(error: BaseException) -> str:
    """The innermost cause in words; httpx's own words are often none."""
    inner = _innermost(error)
    return printable(str(inner) or str(error) or type(error).__name__)
