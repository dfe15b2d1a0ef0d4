"""Remembers digests of large files between starts (provenance.md section 8, stat cache).

Rules this file holds: a digest is known by device, inode, size, mtime, ctime and file system, never by path. ctime is
what makes that sound: ordinary users can set mtime, not ctime. A file that changed less than two seconds before hashing
began is not remembered, for a second change within the clock's grain would not show. What is remembered carries an
authentication code under a key of this host, and expires. A cache that cannot be believed is an empty one, and whatever
came from it is `stat-cached` and never `full-hash`.
"""

from __future__ import annotations

import hmac
import os
import secrets
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import BinaryIO, TypeAlias

from inference_dna.canonical import Json, Refused, canonical, parse_json
from inference_dna.digest import HEX_LENGTH, is_hex
from inference_dna.measure.file_lock import locked
from inference_dna.measure.file_system import BELIEVED, file_system, file_system_id
from inference_dna.measure.private_file import check_private, read_private, replace_private, write_private
from inference_dna.measure.reading import FileState, reading_errors

Clock = Callable[[], float]
"""Wall clock, seconds since 1970."""

EXPIRES_S = 7 * 24 * 3600
RACY_S = 2.0
TURN_WAIT_S = 600.0
"""How long a process waits for another that hashes here before it hashes by itself."""

_FORMAT = "inference-dna/1/stat-cache"
_ALGORITHM = "sha256"
_KEY_BYTES = 32
_KEY, _ENTRIES, _LOCK, _TURN = "key", "digests.json", "lock", "turn"
_LOCK_WAIT_S = 10.0
_MACHINE_ID = Path("/etc/machine-id")


@dataclass(frozen=True, slots=True)
class _Entry:
    """A bare SHA-256 and when it was taken, in whole seconds since 1970."""

    digest: str
    taken_s: int


_Entries: TypeAlias = Mapping[str, _Entry]


class DigestCache:
    """A folder with a key, the digests under it, and locks. All methods may be called from several threads.

    Attributes:
        notes: Why digests were not remembered or not believed, sentences for people.
    """

    def __init__(self, folder: Path, key: bytes, clock: Clock) -> None:
        self._folder, self._key, self._clock = folder, key, clock
        self._lock, self._entries = Lock(), _no_entries()
        self.notes: set[str] = set()
        self._reload()

    def now(self) -> float:
        """Seconds since 1970."""
        return self._clock()

    def look_up(self, stream: BinaryIO, state: FileState) -> str | None:
        """Find the bare SHA-256 that an open file had when it was last hashed.

        Args:
            stream: The file.
            state: The state its descriptor is in.

        Returns:
            None where nothing is known, or nothing that may be believed here.
        """
        name = self._name(stream, state)
        with self._lock:
            entry = self._entries.get(name) if name is not None else None
        if entry is None or not 0 <= self._clock() - entry.taken_s <= EXPIRES_S:
            return None
        return entry.digest

    def store(self, stream: BinaryIO, state: FileState, digest: str, *, started_s: float) -> None:
        """Remember a digest, unless the file changed so recently that another change would not show.

        Args:
            stream: The file, still open.
            state: The state its descriptor was in before and after.
            digest: Its bare SHA-256.
            started_s: When hashing began, by `now`.
        """
        name = self._name(stream, state)
        changed_s = max(state.mtime_ns, state.ctime_ns) / 1e9
        # The kernel's times have a grain of milliseconds, so "changed before hashing began" needs room on both sides.
        if name is None or changed_s > started_s - RACY_S:
            return
        with self._lock, self._held(_LOCK, _LOCK_WAIT_S) as held:
            if held:
                self._reload()
                self._write({**self._fresh(), name: _Entry(digest, int(self._clock()))})

    @contextmanager
    def turn(self, *, wait_s: float = TURN_WAIT_S) -> Iterator[None]:
        """Let one process of this host hash at a time, then see what the one before has found.

        Eight processes that start together would otherwise hash the same files eight times.
        """
        with self._held(_TURN, wait_s):
            with self._lock:
                self._reload()
            yield

    @contextmanager
    def _held(self, name: str, wait_s: float) -> Iterator[bool]:
        """Hold a lock of the folder; a folder that is gone or full costs speed, never a measurement."""
        with ExitStack() as stack:
            try:
                held = stack.enter_context(locked(self._folder / name, wait_s=wait_s))
            except OSError as error:
                self.notes.add(f"Digests could not be remembered: {error.strerror}.")
                held = False
            yield held

    def _name(self, stream: BinaryIO, state: FileState) -> str | None:
        kind = file_system(stream.fileno())
        if kind not in BELIEVED:
            self.notes.add(f"Digests are not remembered on file systems of type {kind}.")
            return None
        parts = (state.device, state.inode, state.size, state.mtime_ns, state.ctime_ns, file_system_id(stream.fileno()))
        return " ".join([_ALGORITHM, *map(str, parts)])

    def _fresh(self) -> _Entries:
        now = self._clock()
        return {name: entry for name, entry in self._entries.items() if 0 <= now - entry.taken_s <= EXPIRES_S}

    def _reload(self) -> None:
        try:
            self._entries = _parse(read_private(self._folder / _ENTRIES), self._key)
        except FileNotFoundError:
            self._entries = _no_entries()
        except (OSError, Refused) as error:
            self.notes.add(f"The remembered digests were not believed. {error}")
            self._entries = _no_entries()

    def _write(self, entries: _Entries) -> None:
        try:
            replace_private(self._folder / _ENTRIES, _text(entries, self._key))
        except OSError as error:
            self.notes.add(f"Digests could not be remembered: {error.strerror}.")
            return
        self._entries = entries


def open_cache(folder: Path, clock: Clock) -> DigestCache:
    """Open the cache in a folder of its own, which is made where it is missing.

    Args:
        folder: Only the user who runs this may write there.
        clock: Wall clock, seconds since 1970.

    Raises:
        Refused: The folder or its key belongs to somebody else or can be written by others, or cannot be made.
    """
    with reading_errors(f"the digest cache {str(folder)!a}"):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        check_private(folder, os.lstat(folder), stat.S_IFDIR)
        return DigestCache(folder, _host_key(folder / _KEY), clock)


def _no_entries() -> _Entries:
    return {}


def _host_key(path: Path) -> bytes:
    """The key in the file, bound to this machine: a cache that was copied here with its key is not believed."""
    if not path.exists():
        _make_key(path)
    secret = read_private(path)
    if len(secret) != _KEY_BYTES:
        raise Refused(f"The key {str(path)!a} of the digest cache is damaged; delete it.")
    machine = _MACHINE_ID.read_bytes() if _MACHINE_ID.exists() else b""
    return hmac.digest(secret, machine, _ALGORITHM)


def _make_key(path: Path) -> None:
    # Written whole under another name first: two processes that start together must not read half a key.
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    write_private(draft, secrets.token_bytes(_KEY_BYTES))
    try:
        with suppress(FileExistsError):
            path.hardlink_to(draft)
    finally:
        draft.unlink()


def _text(entries: _Entries, key: bytes) -> bytes:
    written: Json = {name: [entry.digest, entry.taken_s] for name, entry in entries.items()}
    return canonical({"format": _FORMAT, "entries": written, "mac": _mac(written, key)}).encode()


def _mac(entries: Json, key: bytes) -> str:
    return hmac.new(key, f"{_FORMAT}\n{canonical(entries)}".encode(), sha256).hexdigest()


def _parse(text: bytes, key: bytes) -> _Entries:
    document = parse_json(text)
    match document:
        case {"format": str() as form, "entries": Mapping() as entries, "mac": str() as mac} if form == _FORMAT:
            pass
        case _:
            raise Refused("They are of another format.")
    if not hmac.compare_digest(mac.encode(), _mac(entries, key).encode()):
        raise Refused("Their authentication code is wrong: they were written by somebody else or on another host.")
    return {name: _parse_entry(entry) for name, entry in entries.items()}


def _parse_entry(value: Json) -> _Entry:
    match value:
        case [str() as digest, int() as taken_s] if is_hex(digest, HEX_LENGTH):
            return _Entry(digest, taken_s)
        case _:
            raise Refused("An entry is of another form.")
