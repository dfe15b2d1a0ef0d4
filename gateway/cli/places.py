"""Open what `--source` names, for commands that read and write documents."""

from __future__ import annotations

import getpass
import os
import re
from datetime import UTC, datetime
from pathlib import Path

from gateway.cli.output import WRONG_USAGE, Stop
from gateway.edits.folder import FolderPlace
from gateway.edits.history import Note
from gateway.edits.place import Place
from gateway.settings import Settings, SettingsRefused, load
from gateway.signers import Signers, SignersUnreadable, read_signers

_SHORTENED = re.compile(r"(\[[^\]]+\]|[^:/]+)(:\d+)?(/.*)?")
_FORM = "write consul://HOST:PORT/inference, HOST:PORT of Consul, or file:DIR"


def open_place(source: str | None) -> Place:
    """Open a place of documents: as given, else as GATEWAY_SOURCE says.

    Raises:
        Stop: It is not said, or not understood.
    """
    from gateway.opened import SourceUnknown, place_of
    from gateway.sources.consul.address import AddressRefused

    named = source or settings().source
    if not named:
        raise Stop(f"say where the documents are: --source, or GATEWAY_SOURCE; {_FORM}", WRONG_USAGE)
    try:
        place = place_of(_in_full(named), os.environ)
    except (SourceUnknown, AddressRefused) as refused:
        raise Stop(f"--source: {refused}", WRONG_USAGE) from refused
    if isinstance(place, Path):
        return FolderPlace(place)
    from gateway.edits.consul import ConsulPlace

    return ConsulPlace(place)


def _in_full(named: str) -> str:
    """Write out what people shorten: a folder by its path, Consul by its host and port or the URL of its page.

    Raises:
        Stop: It is neither.
    """
    if Path(named).is_dir():
        return f"file:{named}"
    if named.startswith(("file:", "consul:")):
        return named
    address = named.removeprefix("http://").removesuffix("/")
    if not _SHORTENED.fullmatch(address):
        raise Stop(f"--source {named!r} is not understood; {_FORM}", WRONG_USAGE)
    return f"consul://{address}"


def trusted_signers() -> Signers:
    """Give the keys of which one must have signed every document, as GATEWAY_CONTRACT_KEYS names them.

    Raises:
        Stop: One cannot be read.
    """
    try:
        return read_signers(settings().contract_keys)
    except SignersUnreadable as error:
        raise Stop(str(error), WRONG_USAGE) from error


def note(reason: str | None, author: str | None, now: float) -> Note:
    """Say who writes, when and why.

    Args:
        reason: As given; empty where it is not.
        author: As given, else the name of this user on this machine.
        now: Epoch second.
    """
    at = datetime.fromtimestamp(now, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return Note(author or _user(), at, reason or "", settings().history_kept)


def _user() -> str:
    try:
        name = getpass.getuser()
    except (OSError, KeyError):  # a container's user has no name
        name = f"user {os.getuid()}"
    return f"{name}@{os.uname().nodename}"


def settings() -> Settings:
    """Read the settings of this environment.

    Raises:
        Stop: One of them cannot be used.
    """
    try:
        return load()
    except SettingsRefused as error:
        raise Stop(str(error).replace("\n", "\ndna: "), WRONG_USAGE) from error
