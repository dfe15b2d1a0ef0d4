"""Open what `--source` names: a folder or Consul, with the copy on disk behind the latter."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gateway import runtime
from gateway.settings import Settings
from gateway.sources.consul.address import ConsulAddress, parse_address
from gateway.sources.consul.client import ConsulClient
from gateway.sources.consul.failed import ConsulFailed
from gateway.sources.consul.list_copies import ListCopies
from gateway.sources.consul.rights import OwnRights
from gateway.sources.consul.source import ConsulSettings, ConsulSource
from gateway.sources.consul.transport import refuse_the_dead_one
from gateway.sources.files import FileSource
from gateway.sources.kept import Copy
from gateway.sources.kept_source import KeptSource
from gateway.sources.lookout import Lookout
from gateway.sources.notices import Notices
from gateway.sources.reading import DocumentText, Source
from gateway.telemetry.events import EventLog

_ENVELOPE = 2
"""A reply of Consul is at most so many times as long as the documents in it: base64, JSON, what it says of each key."""


class SourceUnknown(ValueError):
    """A source that cannot be opened; the message says what can."""


@dataclass(frozen=True, slots=True)
class OpenedSource:
    """Where documents come from, and what goes with it.

    Attributes:
        source: What the watcher reads.
        keep: Keeps what is in force after a good reading; None where nothing is kept.
        loops: What has to run beside it, by name.
        consul: The source in Consul and the client that asks it; None where documents come from a folder.
        rights: Knows whose token Consul is read with; None likewise.
    """

    source: Source
    keep: Callable[[Collection[DocumentText]], Awaitable[None]] | None = None
    loops: Mapping[str, Callable[[], Awaitable[None]]] = field(default_factory=dict)
    consul: tuple[ConsulSource, ConsulClient] | None = None
    rights: OwnRights | None = None


def place_of(source: str | None, environ: Mapping[str, str]) -> Path | ConsulAddress:
    """Understand `--source`.

    Raises:
        SourceUnknown: It names nothing we can read.
        AddressRefused: It is no address of Consul, or its certificates cannot be used.
    """
    kind, _, place = (source or "").partition(":")
    if kind == "consul":
        try:
            refuse_the_dead_one()
        except ConsulFailed as dead:
            raise SourceUnknown(str(dead)) from dead
        address = parse_address(source or "", environ)
        if address.tls is not None:
            address.tls.context()  # a file that cannot be used is a fault of the start, not of the first read
        return address
    if kind != "file" or not place:
        raise SourceUnknown(f"--source {source!r} is not understood; write file:DIR or consul://HOST:PORT/inference")
    return Path(place)


def open_source(
    settings: Settings, place: Path | ConsulAddress, *, events: EventLog, on_oddity: Callable[[str], None]
) -> OpenedSource:
    """Open a place of documents. Starts nothing.

    Args:
        settings: Numbers.
        place: What `place_of` gave.
        events: Takes what has to be told.
        on_oddity: Is told one word for each reply that looks like an accident.
    """
    if isinstance(place, Path):
        return OpenedSource(
            FileSource(
                place,
                poll_s=settings.source_poll_s,
                settle_s=settings.source_settle_s,
                max_bytes=settings.max_document,
                lookout=Lookout(Notices()),
            )
        )
    client = ConsulClient(place, max_bytes=_ENVELOPE * settings.source_max_bytes)
    numbers = ConsulSettings(
        wait_s=settings.source_wait_s,
        jitter_s=settings.source_jitter_s,
        max_document=settings.max_document,
        max_bytes=settings.source_max_bytes,
    )
    source = ConsulSource(client, now=runtime.now, draw=runtime.draw, on_oddity=on_oddity, settings=numbers)
    rights = OwnRights(client)
    loops = {"consul": source.run, "rights": rights.run}
    if not settings.kept_folder:
        return OpenedSource(source, loops=loops, consul=(source, client), rights=rights)
    kept = KeptSource(
        source,
        Copy(_file(settings.kept_folder, place), root=f"{place.prefix}/", limit_s=settings.kept_limit_s),
        now=runtime.now,
        wall=runtime.wall,
        report=lambda problem: events.write(
            "copy_failing" if problem else "copy_written", level="warning" if problem else "info", reason=problem
        ),
    )
    return OpenedSource(kept, kept.keep, loops, (source, client), rights)


def open_list_copies(settings: Settings, address: ConsulAddress) -> ListCopies | None:
    """Open the folder of what Consul lists of services, beside the copy of the documents; None: nothing is kept."""
    if not settings.kept_folder:
        return None
    folder = _file(settings.kept_folder, address).with_suffix(".services")
    return ListCopies(folder, limit_s=settings.kept_limit_s, wall=runtime.wall)


def _file(folder: str, address: ConsulAddress) -> Path:
    """Name the copy after what it is a copy of: one folder may hold those of several gateways."""
    parts = (address.host, str(address.port), address.dc or "", address.ns or "", address.prefix)
    name = "-".join(re.sub(r"[^A-Za-z0-9.]+", "_", part) for part in parts if part)
    return Path(folder).expanduser() / f"consul-{name}.json"
