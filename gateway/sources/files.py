"""Documents in a folder, laid out like the keys: `contracts/<model_id>/<version>.json` and `routes/<model_id>.yaml`.

Rules of this file:

* A round takes stamps first and reads only files whose stamp changed.
* Where something changed the folder is walked twice, a moment apart; what differs between the two walks is still being
  written, or still being removed, and waits for the next round.
* A file counts as gone only after it was looked up alone, below a top folder that could be listed.
* A walk that somebody waits for is as fast as it can be: the first of all, one that the kernel's notice asked for, the
  second of a round. The others take breaks, so that no request waits for a walk through a folder of thousands.
* While the kernel gives notice of changes, walks without one take a hundredth of a core at the most: a small folder is
  walked through in every round, one of ten thousand files every fifteen seconds. Where it gives none, that is in every
  round, and costs an eighth of a core.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict, deque
from collections.abc import Callable, Collection
from pathlib import Path

from gateway.printable import printable
from gateway.sources.breaks import Breaks, no_break
from gateway.sources.document_file import DocumentFile, Unsettled, key_or_none, take
from gateway.sources.lookout import Lookout
from gateway.sources.notices import Notices
from gateway.sources.reading import DocumentFault, DocumentText, Reading
from gateway.sources.tree import Listing, Stamp, is_absent

_PATIENCE = 4
"""Rounds in a row for which a file that never rests is passed over before it is read all the same."""
_GONE_KEPT = 100_000
"""Keys of removed documents that are remembered, so that a reader that missed a round still learns of them."""


class FileSource:
    """Polls a folder; `read` waits for the next round and works in a thread, so no disk ever blocks a request.

    Args:
        folder: The folder; it may appear later.
        poll_s: Seconds between two rounds.
        settle_s: Seconds between the two walks when something changed.
        max_bytes: Largest document, in bytes.
        lookout: Knows when to walk; by default there is a walk in every round.
        pause: Waits so many seconds, in the thread.
    """

    kind = "files"

    def __init__(
        self,
        folder: Path,
        *,
        poll_s: float = 0.5,
        settle_s: float = 0.1,
        max_bytes: int = 512 * 1024,
        lookout: Lookout | None = None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self.place = f"file:{printable(str(folder))}"
        self._folder = folder
        self._poll_s = poll_s
        self._settle_s = settle_s
        self._max_bytes = max_bytes
        self._lookout = lookout or Lookout(Notices(is_complete=False))
        self._pause = pause
        self._files: dict[str, DocumentFile] = {}
        self._unseen: dict[str, str | None] = {}  # path -> key of files that were known and are not confirmed absent
        self._restless: dict[str, int] = {}
        self._gone: dict[str, None] = {}  # ordered, so that the oldest is forgotten first
        self._forgotten: deque[str] = deque()  # filled by another thread than the one that looks
        self._stamps: dict[str, Stamp | None] = {}
        self._faults: dict[str, str] = {}
        self._problems: list[str] = []
        self._last: Reading | None = None
        self._is_awaited = False

    async def read(self) -> Reading:
        """Wait for the next round (the first is at once), then say what the folder holds."""
        if self._last is not None:
            await asyncio.sleep(self._poll_s)
            if not self._lookout.is_due():
                return self._last
        self._is_awaited = True
        try:
            return await asyncio.to_thread(self.look)
        finally:
            self._is_awaited = False  # where this was cancelled, the thread works on: without breaks from now on

    def forget(self, keys: Collection[str]) -> None:
        """Stop missing these documents; from the next round on they are gone unless they are there."""
        self._forgotten.extend(keys)

    def look(self) -> Reading:
        """Take one round in the calling thread. The same object as last time means nothing changed."""
        reading = self._last = self._round()
        if self._is_unfinished():
            self._lookout.call_again()
        return reading

    def _round(self) -> Reading:
        is_urgent = self._lookout.answer_call() or self._last is None
        first = listing = self._walk(no_break if is_urgent else Breaks(self._rest))
        if self._last is not None:
            if not self._differs(listing):
                return self._last
            self._pause(self._settle_s)
            listing = self._walk(no_break)
        self._take_changed(first, listing)
        self._note_unseen(listing)
        self._drop_forgotten()
        self._confirm_absent(first, listing)
        self._faults, self._problems = listing.faults, listing.problems
        reading = self._reading(listing)
        return self._last if reading == self._last else reading

    def _walk(self, take_break: Callable[[], None]) -> Listing:
        return self._lookout.walk(self._folder, take_break=take_break)

    def _rest(self, seconds: float) -> None:
        """Wait, as long as somebody waits for this round: the end of the process is not held up."""
        if self._is_awaited:
            self._pause(seconds)

    def _differs(self, listing: Listing) -> bool:
        """Say whether this round has to be taken at all; most need not."""
        is_same = self._stamps == listing.files and self._faults == listing.faults
        return not is_same or self._problems != listing.problems or bool(self._unseen)

    def _is_unfinished(self) -> bool:
        """Say whether something may change without a notice: what could not be read, or did not come to rest."""
        is_unread = None in self._stamps.values()
        return is_unread or bool(self._restless or self._unseen or self._faults or self._problems)

    def _take_changed(self, first: Listing, listing: Listing) -> None:
        """Read every file whose stamp is new and was the same in both walks."""
        restless = self._restless
        self._restless = {}
        for path, stamp in listing.files.items():
            known = self._files.get(path)
            if known is not None and known.stamp == stamp:
                continue
            rounds = restless.get(path, 0)
            if first.files.get(path) != stamp and rounds < _PATIENCE:
                self._restless[path] = rounds + 1
            else:
                self._take(listing.root, path, rounds)

    def _take(self, root: Path, path: str, rounds: int) -> None:
        try:
            file = take(root, path, max_bytes=self._max_bytes)
        except Unsettled as unsettled:
            self._restless[path] = rounds + 1
            if rounds < _PATIENCE:
                return
            file = DocumentFile(None, key_or_none(path), fault=str(unsettled))
        self._files[path] = file
        self._stamps[path] = file.stamp
        self._unseen.pop(path, None)

    def _note_unseen(self, listing: Listing) -> None:
        for path in self._files.keys() - listing.files.keys():
            self._unseen[path] = self._files.pop(path).key
            del self._stamps[path]

    def _drop_forgotten(self) -> None:
        keys = {self._forgotten.popleft() for _ in range(len(self._forgotten))}
        for path in [path for path, key in self._unseen.items() if key in keys]:
            self._gone[self._unseen.pop(path) or path] = None

    def _confirm_absent(self, first: Listing, listing: Listing) -> None:
        """Take unseen files for gone where each, looked up alone, is not there."""
        if first.files.keys() - listing.files.keys():
            return  # files are vanishing this very moment: wait until that has come to rest
        for path in self._unseen.keys() - listing.faults.keys():
            if _top(path) not in listing.tops or not is_absent(listing.root, path):
                continue
            key = self._unseen.pop(path)
            if key is not None:
                self._gone[key] = None
        while len(self._gone) > _GONE_KEPT:
            self._gone.pop(next(iter(self._gone)))

    def _reading(self, listing: Listing) -> Reading:
        documents, faults = _sort_out(self._files, listing.faults)
        for key in {*documents, *faults, *self._unseen.values()} & self._gone.keys():
            self._gone.pop(key or "", None)
        lost = sorted({_top(path) for path in self._unseen} - listing.tops)
        problems = (*listing.problems, *(f"the folder {top}/ is missing, nothing of it is removed" for top in lost))
        ok = bool(listing.tops) and listing.complete and not lost
        return Reading(documents, frozenset(self._gone), faults, problems, ok=ok)


def _top(path: str) -> str:
    return path.partition("/")[0]


def _sort_out(
    files: dict[str, DocumentFile], unlisted: dict[str, str]
) -> tuple[dict[str, DocumentText], dict[str, DocumentFault]]:
    """Sort files into documents and faults; files that share a key are a fault that names them all."""
    by_key: defaultdict[str, list[tuple[str, DocumentFile]]] = defaultdict(list)
    for path, file in files.items():
        by_key[file.key or path].append((path, file))
    for path, message in unlisted.items():
        key = key_or_none(path)
        by_key[key or path].append((path, DocumentFile(None, key, fault=message)))
    documents: dict[str, DocumentText] = {}
    faults: dict[str, DocumentFault] = {}
    for key, found in by_key.items():
        path, file = found[0]
        if len(found) > 1:
            paths = " and ".join(sorted(path for path, _ in found))
            faults[key] = DocumentFault(paths, f"more than one file for this document: {paths}; keep one of them")
        elif file.document is not None:
            documents[key] = file.document
        else:
            faults[key] = DocumentFault(path, file.fault or "")
    return documents, faults
