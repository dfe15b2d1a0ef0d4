"""The real `consul` program of the tests: the one on the path, else Debian's package unpacked into `.cache/consul`.

The package is fetched with apt from the archive that this machine's own sources name; only its suite stands here. apt
gets folders of its own, so that nothing is installed and no right is needed.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

SUITE = "bullseye"
"""The last suite of Debian that has Consul: 1.8.7."""

_CACHE = Path(__file__).parents[2] / ".cache" / "consul"
_RELEASE = re.compile(r"^'([^']+)/dists/([^/'-]+)/InRelease'", re.MULTILINE)
_KEYRINGS = ("/usr/share/keyrings", "/etc/apt/trusted.gpg.d")


class ConsulMissing(Exception):
    """There is no Consul and none can be had; the message says what was tried."""


def consul_or_skip() -> Path:
    """The program. Without it the test is skipped; with REQUIRE_CONSUL set it fails."""
    try:
        return consul_program()
    except ConsulMissing as error:
        if os.environ.get("REQUIRE_CONSUL"):
            pytest.fail(str(error))
        pytest.skip(str(error))


@cache
def consul_program() -> Path:
    """Find the program, or fetch it once for all test processes (a few seconds).

    Raises:
        ConsulMissing: It is nowhere.
    """
    if found := shutil.which("consul"):
        return Path(found)
    cached = _CACHE / "consul"
    _CACHE.mkdir(parents=True, exist_ok=True)
    with (_CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not cached.exists():
            _unpack(_package(), cached)
    return cached


def _package() -> Path:
    tried = []
    for archive in _archives():
        try:
            return _fetch(archive)
        except subprocess.CalledProcessError as error:
            tried.append(f"{archive}: {error.stderr.decode(errors='replace').strip()[-300:]}")
        except (OSError, subprocess.TimeoutExpired, LookupError) as error:
            tried.append(f"{archive}: {error}")
    named = os.environ.get("CONSUL_DEB")
    if named and Path(named).is_file():
        return Path(named)
    raise ConsulMissing(
        "there is no consul on the path, and Debian's package of it cannot be had"
        f" ({'; '.join(tried) or 'apt names no archive'}); put consul on the path, or name a package in CONSUL_DEB"
    )


def _archives() -> Iterator[str]:
    """The archives of this machine, as apt itself reads its sources; suites such as `bookworm-updates` aside."""
    if shutil.which("apt-get") is None or shutil.which("dpkg") is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "lists" / "partial").mkdir(parents=True)
        asked = ["apt-get", "-o", f"Dir::State={folder}", "update", "--print-uris"]
        said = subprocess.run(asked, capture_output=True, text=True, check=False)
    yield from dict.fromkeys(archive for archive, _ in _RELEASE.findall(said.stdout))


def _fetch(archive: str) -> Path:
    home = _CACHE / "apt"
    shutil.rmtree(home, ignore_errors=True)
    for folder in ("state/lists/partial", "cache/archives/partial"):
        (home / folder).mkdir(parents=True)
    keyrings = ",".join(str(ring) for folder in _KEYRINGS for ring in sorted(Path(folder).glob("debian-archive-*")))
    trust = f"[signed-by={keyrings}] " if keyrings else ""
    (home / "sources.list").write_text(f"deb {trust}{archive} {SUITE} main\n", encoding="utf-8")
    options = {
        "Dir::State": home / "state",
        "Dir::State::status": "/dev/null",
        "Dir::Cache": home / "cache",
        "Dir::Etc::sourcelist": home / "sources.list",
        "Dir::Etc::sourceparts": "/dev/null",
        "APT::Sandbox::User": "",
        "Acquire::Languages": "none",
        "Acquire::Check-Valid-Until": "false",  # an archived suite is not signed anew
    }
    apt = ["apt-get", "--quiet", *(word for name, value in options.items() for word in ("-o", f"{name}={value}"))]
    for words in (["update"], ["download", "consul"]):
        subprocess.run([*apt, *words], cwd=home, check=True, capture_output=True, timeout=90)
    found = next(home.glob("consul_*.deb"), None)
    if found is None:
        raise LookupError("apt fetched no package")
    return found


def _unpack(package: Path, target: Path) -> None:
    with tempfile.TemporaryDirectory(dir=_CACHE) as folder:
        subprocess.run(["dpkg", "-x", str(package), folder], check=True, capture_output=True)
        (Path(folder) / "usr" / "bin" / "consul").rename(target)
    shutil.rmtree(_CACHE / "apt", ignore_errors=True)
