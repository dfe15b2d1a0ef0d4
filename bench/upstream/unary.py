"""Chooses the upstream for whole answers: nginx, or where there is none the small process that also streams."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from bench.upstream.nginx import NginxUpstream
from bench.upstream.streaming import StreamUpstream

BUILT_IN = "built-in upstream"


def unary_upstream(folder: Path, *, cores: Sequence[int]) -> NginxUpstream | StreamUpstream:
    """Give an upstream to enter. The built-in one answers a few thousand requests/s: enough for smoke, not more.

    Raises:
        StartError: On entering, where it does not answer.
    """
    return NginxUpstream(folder, cores=cores) if has_nginx() else StreamUpstream(folder, cores=cores, rate=1)


def unary_name() -> str:
    """What answers, for the page."""
    return "nginx" if has_nginx() else BUILT_IN


def has_nginx() -> bool:
    """Say whether nginx is here."""
    return shutil.which("nginx") is not None
