"""A folder as a place of documents: each file is replaced as a whole, and only where it still says what was read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from contracts.reading import MAX_BYTES
from gateway.edits.history import Entry, Note
from gateway.edits.place import Change, Faster, Held, Holding, PlaceFailed
from gateway.sources.files import FileSource
from gateway.sources.listing import Listing
from gateway.sources.tree import walk
from inference_dna.canonical import Refused
from inference_dna.making.whole_file import write_whole

_STAMP_SHOWN = 12


class FolderPlace:
    """Reads and writes `contracts/` and `routes/` below a folder. History is for git to keep."""

    prefix = "inference/"

    def __init__(self, folder: Path) -> None:
        self._source = FileSource(folder, poll_s=1.0, settle_s=0.0, max_bytes=MAX_BYTES)
        self._folder = folder

    @property
    def name(self) -> str:
        """Where it is."""
        return f"file:{self._folder}"

    def read(self) -> Holding:
        """Read every document.

        Raises:
            PlaceFailed: The folder cannot be read.
        """
        reading = self._source.look()
        if not reading.ok and not self._is_fresh():
            raise PlaceFailed(f"{'; '.join(reading.problems)}; say where the documents are: --source file:DIR")
        held = {
            key: Held(key, document.text, document.origin, _stamp(document.text))
            for key, document in reading.documents.items()
        }
        return Holding(held, reading.faults)

    def write(self, changes: Sequence[Change], note: Note) -> None:
        """Write files one after another; who and why is for the folder's own history, such as git, to say.

        Raises:
            Faster: A file is not what was read; nothing was written.
            PlaceFailed: A file cannot be written.
        """
        del note
        targets = [(change, self._target(change)) for change in changes]
        faster = [change.key for change, target in targets if _content(target) != _read_before(change)]
        if faster:
            raise Faster(faster)
        for change, target in targets:
            _write(target, change.text)

    def listings(self, services: Iterable[str]) -> Mapping[str, Listing]:
        """Know none: a folder has no catalogue."""
        del services
        return {}

    def history(self, key: str) -> tuple[Entry, ...]:
        """Say that there is none.

        Raises:
            PlaceFailed: Always.
        """
        raise PlaceFailed(f"a folder keeps no history of {key}; keep it in git, and ask git log")

    def _is_fresh(self) -> bool:
        """An empty folder is a place to write the first document to; one that is missing or unreadable is a mistake."""
        try:
            return not any(self._folder.iterdir())
        except OSError:
            return False

    def _target(self, change: Change) -> Path:
        root = walk(self._folder).root
        if change.before is not None:
            return root / change.before.origin
        ending = ".json" if (change.text or b"").lstrip().startswith(b"{") else ".yaml"
        return root / f"{change.key}{ending}"


def _stamp(text: bytes) -> str:
    return sha256(text).hexdigest()[:_STAMP_SHOWN]


def _read_before(change: Change) -> bytes | None:
    return change.before.text if change.before else None


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise PlaceFailed(f"{path} cannot be read: {error.strerror}") from error


def _write(path: Path, text: bytes | None) -> None:
    try:
        if text is None:
            path.unlink()
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text.decode())
    except OSError as error:
        raise PlaceFailed(f"{path} cannot be written: {error.strerror}") from error
    except Refused as refused:
        raise PlaceFailed(str(refused)) from refused
