"""A GnuPG home with keys made for a test, by the real program."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

# Where it is required and missing, the tests run and fail: a skip would pass in silence.
HAS_GPG = shutil.which("gpg") is not None or bool(os.environ.get("REQUIRE_GPG"))
NO_GPG = "the program gpg is not on the path; install GnuPG (package gnupg)"


@dataclass(frozen=True)
class Home:
    """A home of its own, below a short path: the agent's socket must fit into 108 characters."""

    path: Path

    def run(self, *arguments: str, content: bytes = b"") -> bytes:
        command = ["gpg", "--homedir", str(self.path), "--batch", "--no-tty", "--yes", "--pinentry-mode", "loopback"]
        environ = {**os.environ, "LC_ALL": "C"}
        done = subprocess.run([*command, *arguments], input=content, capture_output=True, check=False, env=environ)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout

    def new_key(self, name: str, *, expires: str = "never", at: str | None = None, passphrase: str = "") -> str:
        """Make an Ed25519 key that can sign; gives its fingerprint. `at` is the day GPG shall believe it is."""
        when = [] if at is None else ["--faked-system-time", at]
        self.run(*when, "--passphrase", passphrase, "--quick-generate-key", name, "ed25519", "sign", expires)
        listed = self.run("--with-colons", "--list-keys", name).decode().splitlines()
        return next(line.split(":")[9] for line in listed if line.startswith("fpr"))

    def add_signing_subkey(self, fingerprint: str) -> None:
        self.run("--passphrase", "", "--quick-add-key", fingerprint, "ed25519", "sign", "never")

    def public(self, fingerprint: str) -> bytes:
        return self.run("--armor", "--export", fingerprint)

    def detached(self, content: bytes, *fingerprints: str, at: str | None = None) -> str:
        """A detached signature by each of these keys."""
        when = [] if at is None else ["--faked-system-time", at]
        users = [argument for one in fingerprints for argument in ("--local-user", one)]
        return self.run(*when, "--armor", "--detach-sign", *users, content=content).decode()


@contextmanager
def gnupg_home() -> Iterator[Home]:
    """Make a home; its agent ends with it."""
    with tempfile.TemporaryDirectory(prefix="gpg-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        path = Path(folder)
        path.chmod(0o700)
        try:
            yield Home(path)
        finally:
            subprocess.run(["gpgconf", "--homedir", str(path), "--kill", "all"], check=False, capture_output=True)
