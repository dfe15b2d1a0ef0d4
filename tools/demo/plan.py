"""Who is in the demo fleet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.demo.documents import CANARY, OLDER, STABLE
from tools.demo.run_folder import REPOSITORY

BUNDLES = REPOSITORY / "worker" / "demo" / "bundles"


@dataclass(frozen=True, slots=True)
class Member:
    """One worker to start.

    Attributes:
        name: What the demo calls it.
        bundle: Name of the bundle it serves.
        version: The version it claims to serve.
        is_honest: Whether its bundle is the one of that version. Only an honest worker may enrol.
    """

    name: str
    bundle: str
    version: str
    is_honest: bool = True

    @property
    def folder(self) -> Path:
        """The folder of its bundle."""
        return BUNDLES / self.bundle

    @property
    def manifest(self) -> Path:
        """The committed manifest of the version it claims, whatever its own bundle holds."""
        return BUNDLES / self.version / "manifest.json"


DRIFTED_BUNDLE = "v2.4.0-drifted"
DRIFTED = Member("v2.4.0 drifted", DRIFTED_BUNDLE, STABLE, is_honest=False)
"""Claims v2.4.0; its tokenizer files were saved again and changed on the way."""

PLAN: Sequence[Member] = (
    Member("v2.4.0 a", STABLE, STABLE),
    Member("v2.4.0 b", STABLE, STABLE),
    Member("v2.3.1", OLDER, OLDER),
    Member("v2.4.1-rc.1", CANARY, CANARY),
    DRIFTED,
)
