"""The gateways that share verdicts, as keys of Consul.

Three kinds lie below one prefix, outside the documents':

    gateways/NAME   who is a member; all read the names, waiting for changes
    beats/NAME      moves every two seconds; read by the few that watch NAME, so that a beat wakes nobody
    bulletins/NAME  what NAME tells (gateway/sharing/bulletin.py); all read all of them, waiting for changes

All of a member's keys are held by its session and vanish with it. Consul itself ends a session only after 10 to 20 s,
so whoever watches a gateway whose beat stands still ends its session sooner. A name is used for one session only: what
is removed can never be somebody who has come back.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Collection
from hashlib import sha256

from gateway.sharing.bulletin import NO_BULLETIN, Bulletin, BulletinUnreadable, read_bulletin
from gateway.sharing.names import is_member_name
from gateway.sources.consul.client import ConsulClient, ensure_good
from gateway.sources.consul.failed import ConsulFailed, FailureKind
from gateway.sources.consul.reads import Known, Oddity, after_reply
from gateway.sources.consul.replies import Consistency, Entry, Reply, entries_of

SESSION_S = 10
"""Consul takes no shorter one."""
CALL_S = 2.0
"""For every call that does not wait for a change: who is not answered so long counts Consul as away."""
FIRST_READ = Known()
"""What is known before the first reading."""
_NOT_FOUND = 404


class Member:
    """One gateway's life as a member: one session, one name.

    Args:
        client: Asks Consul; closed by whoever made it.
        prefix: Of all keys, without a slash at its end.
        name: Never used before.
    """

    def __init__(self, client: ConsulClient, *, prefix: str, name: str) -> None:
        self._client = client
        self._prefix = prefix
        self._session = ""
        self._beat = 0
        self._bulletins: dict[str, tuple[int, Bulletin]] = {}
        self.name = name

    # coming and going -------------------------------------------------------------------------------------------------

    async def join(self) -> None:
        """Become a member.

        Raises:
            ConsulFailed: Consul cannot be reached or refuses.
        """
        async with _in_time():
            self._session = await self._client.create_session(f"dna-gateway {self.name}", ttl_s=SESSION_S)
            # While a prefix has no key at all, every write of anybody wakes its readers. Written once, by the first.
            await self._client.put(self._key("bulletins", ""), b"", cas=0)
            await self._hold("beats", b"0")
            await self._hold("gateways", b"{}")

    async def leave(self) -> None:
        """Give everything up, where Consul can be reached."""
        with contextlib.suppress(ConsulFailed):
            async with _in_time():
                if self._session:
                    await self._client.destroy_session(self._session)

    async def beat(self) -> None:
        """Show that we live.

        Raises:
            ConsulFailed: Consul cannot be reached, or somebody ended our session.
        """
        self._beat += 1
        async with _in_time():
            if not await self._client.renew_session(self._session):
                raise ConsulFailed(FailureKind.REFUSED, "another gateway found this one silent and ended its session")
            await self._hold("beats", str(self._beat).encode())

    async def tell(self, bulletin: bytes) -> None:
        """Replace what we tell; nothing at all where it is empty, for everybody reads everybody's."""
        async with _in_time():
            if bulletin:
                await self._hold("bulletins", bulletin)
            else:
                await self._client.delete(self._key("bulletins", self.name))

    async def _hold(self, kind: str, value: bytes) -> None:
        if not await self._client.acquire(self._key(kind, self.name), value, session=self._session):
            raise ConsulFailed(FailureKind.REFUSED, f"{self._key(kind, self.name)} is held by another session")

    # the others -------------------------------------------------------------------------------------------------------

    async def members(self, known: Known) -> tuple[frozenset[str] | None, Known]:
        """Read who is a member, waiting for a change.

        Args:
            known: What the reading before left; `FIRST_READ` where there was none.

        Returns:
            The names, or None where they are those of the reading before; and what this reading leaves.
        """
        folder = self._key("gateways", "")
        reply, after = await self._read(folder, {"keys": ""}, known)
        if reply is None:
            return None, after
        listed = reply.json() if reply.status != _NOT_FOUND else []
        return frozenset(filter(is_member_name, (str(key).removeprefix(folder) for key in listed))), after

    async def bulletins(self, known: Known) -> tuple[dict[str, Bulletin] | None, Known]:
        """Read what all others tell, as `members`; what is no bulletin counts as an empty one."""
        folder = self._key("bulletins", "")
        reply, after = await self._read(folder, {"recurse": ""}, known)
        if reply is None:
            return None, after
        before, self._bulletins = self._bulletins, {}
        for entry in entries_of(reply):
            name = entry.key.removeprefix(folder)
            if name != self.name and is_member_name(name):
                self._bulletins[name] = _bulletin(entry, before.get(name))
        return {name: bulletin for name, (_, bulletin) in self._bulletins.items()}, after

    async def _read(self, folder: str, params: dict[str, str], known: Known) -> tuple[Reply | None, Known]:
        """Read below a folder, waiting for a change; gives no reply where its content is as before."""
        # Of the leader: another server might not have yet what we have just written ourselves. Without a leader no beat
        # is taken either, and this life ends.
        reply = await self._client.read(f"/v1/kv/{folder}", params, index=known.index)
        ensure_good(reply, allow_absent=True)
        step = after_reply(known, reply, sha256(reply.body).hexdigest(), draw=0.0)
        if step.oddity is Oddity.FILTERED:
            raise ConsulFailed(FailureKind.DENIED, f"the token may not see everything below {folder}")
        return (reply if step.good and step.news else None), step.known

    async def beats(self, names: Collection[str]) -> dict[str, str | None]:
        """Look at the beats of these; any server may answer, and None stands for a beat that is not there."""
        async with _in_time():
            replies = [
                await self._client.read(f"/v1/kv/{self._key('beats', name)}", consistency=Consistency.STALE)
                for name in names
            ]
        return dict(zip(names, map(_beat, replies), strict=True))

    async def bury(self, name: str, beat: str | None) -> bool:
        """End the session of a gateway whose beat stands still, if it still does where the leader looks."""
        async with _in_time():
            if _value(await self._client.key(self._key("beats", name))) != beat:
                return False
            entry = await self._client.key(self._key("gateways", name))
            if entry is not None and entry.session:
                await self._client.destroy_session(entry.session)
            for kind in ("gateways", "beats", "bulletins"):  # a restored Consul may hold keys without their session
                await self._client.delete(self._key(kind, name))
        return entry is not None

    def _key(self, kind: str, name: str) -> str:
        return f"{self._prefix}/{kind}/{name}"


def _bulletin(entry: Entry, known: tuple[int, Bulletin] | None) -> tuple[int, Bulletin]:
    if known is not None and known[0] == entry.modify_index:
        return known
    try:
        return entry.modify_index, read_bulletin(entry.value or b"")
    except BulletinUnreadable:
        return entry.modify_index, NO_BULLETIN


def _beat(reply: Reply) -> str | None:
    entries = entries_of(ensure_good(reply, allow_absent=True))
    return _value(entries[0]) if entries else None


def _value(entry: Entry | None) -> str | None:
    return None if entry is None or entry.value is None else entry.value.decode("utf-8", "replace")


@contextlib.asynccontextmanager
async def _in_time() -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(CALL_S):
            yield
    except TimeoutError as error:
        raise ConsulFailed(FailureKind.TIMEOUT, f"Consul did not answer within {CALL_S:g} s") from error
