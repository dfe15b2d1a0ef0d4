"""Signing and judging with GnuPG (provenance.md section 9).

GPG's exit code says only that some key it knows made a good signature. So signatures are judged in a key ring of their
own that holds the trusted keys and no others, by the status lines, and the primary key's full fingerprint decides.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from inference_dna.canonical import Refused
from inference_dna.trust.keys import TrustedKey, gpg_key

_PREFIX = "[GNUPG:] "
_PRIMARY = 9
"""Where VALIDSIG names the primary key; the field is optional, and the first names the key that signed."""
_WORTHLESS = {
    "EXPSIG": "the signature expired",
    "EXPKEYSIG": "the key expired",
    "REVKEYSIG": "the key was revoked",
    "ERRSIG": "the key is not trusted, or the signature is of a kind that cannot be checked",
}
_TIMEOUT_S = 60


class Standing(StrEnum):
    """What one signature is worth."""

    GOOD = "good"
    BAD = "bad"
    UNPROVEN = "unproven"


@dataclass(frozen=True, slots=True)
class Signature:
    """One signature as GPG judged it. `primary` is the primary key's fingerprint, empty where it is not known."""

    standing: Standing
    primary: str
    reason: str


@dataclass(frozen=True, slots=True)
class Ring:
    """A key ring that holds the trusted keys and no others."""

    home: Path

    def judge(self, armored: str, content: bytes) -> tuple[Signature, ...]:
        """Judge a detached signature; empty where the text is none."""
        file = self.home / "signature.asc"
        file.write_text(armored, encoding="utf-8", errors="replace")
        # SHA-1 can be made to collide: two contents, one signature.
        arguments = ["--no-autostart", "--weak-digest", "SHA1", "--status-fd", "1", "--verify", str(file), "-"]
        return parse_status(_run(arguments, home=self.home, content=content).stdout.decode("utf-8", "replace"))


@contextmanager
def ring(keys: Iterable[TrustedKey], *, home: Path | None) -> Iterator[Ring]:
    """Make a ring of these keys; it is gone at the end of the block.

    Args:
        keys: GPG keys. One without material is taken from `home`.
        home: The GnuPG home to take them from; None is the user's own.

    Raises:
        Refused: A key is nowhere to be found, or GPG is not installed.
    """
    with tempfile.TemporaryDirectory(prefix="ring-") as folder:
        made = Path(folder)
        made.chmod(0o700)
        for key in keys:
            material = key.material or _exported(key, home)
            arguments = ["--no-autostart", "--import-options", "import-clean", "--import"]
            imported = _run(arguments, home=made, content=material)
            if imported.returncode != 0:
                raise Refused(f"The public key of {key.id} cannot be imported. {_complaint(imported)}")
        yield Ring(made)


def sign(content: bytes, fingerprint: str, *, home: Path | None, passphrase_file: Path | None) -> str:
    """Make a detached, armored signature with the key whose primary fingerprint is given.

    Raises:
        Refused: GPG is missing or cannot sign, or what it signed with belongs to another primary key.
    """
    key = gpg_key(fingerprint)
    unlocking = [] if passphrase_file is None else ["--pinentry-mode", "loopback", "--passphrase-file", passphrase_file]
    arguments = [*unlocking, "--armor", "--detach-sign", "--local-user", key.id]
    made = _run([str(argument) for argument in arguments], home=home, content=content)
    if made.returncode != 0:
        raise Refused(f"GPG did not sign with {key.id}. {_complaint(made)}")
    armored = made.stdout.decode("ascii")
    with ring([key], home=home) as own:
        judged = own.judge(armored, content)
    if [(one.standing, one.primary) for one in judged] != [(Standing.GOOD, key.id)]:
        raise Refused(f"GPG signed, and not so that {key.id} is proven. {'; '.join(one.reason for one in judged)}")
    return armored


def parse_status(text: str) -> tuple[Signature, ...]:
    """Read what GPG says on its status descriptor; one entry per signature.

    Each line is read by itself: a field that a line lacks is never taken from the next.
    """
    groups: list[list[list[str]]] = []
    for line in text.splitlines():
        if not line.startswith(_PREFIX):
            continue
        words = line.removeprefix(_PREFIX).split(" ")
        if words[0] == "NEWSIG":
            groups.append([])
        elif groups:
            groups[-1].append(words)
    return tuple(_judged({words[0]: words[1:] for words in group}) for group in groups)


def _judged(said: dict[str, list[str]]) -> Signature:
    primary = _primary(said.get("VALIDSIG", []))
    if "BADSIG" in said:
        return Signature(Standing.BAD, primary, f"the GPG key {_first(said['BADSIG'])} did not sign this content")
    for word, reason in _WORTHLESS.items():
        if word in said:
            return Signature(Standing.UNPROVEN, primary, f"GPG key {_first(said[word])}: {reason}")
    if "GOODSIG" not in said or not primary:
        return Signature(Standing.UNPROVEN, "", "GPG did not say that the signature is valid")
    return Signature(Standing.GOOD, primary, "")


def _primary(fields: Sequence[str]) -> str:
    named = fields[_PRIMARY] if len(fields) > _PRIMARY else _first(fields)
    return named.upper()


def _first(fields: Sequence[str]) -> str:
    return fields[0] if fields else ""


def _exported(key: TrustedKey, home: Path | None) -> bytes:
    found = _run(["--export", key.id], home=home)
    if found.returncode != 0 or not found.stdout:
        raise Refused(f"The key ring has no public key {key.id}; import it, or give the key itself.")
    return found.stdout


def _run(arguments: Sequence[str], *, home: Path | None, content: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    program = shutil.which("gpg")
    if program is None:
        raise Refused("GPG signatures need the program gpg on the path; install GnuPG.")
    where = [] if home is None else ["--homedir", str(home)]
    command = [program, "--batch", "--no-tty", "--yes", *where, *arguments]
    environ = {**os.environ, "LC_ALL": "C"}
    try:
        return subprocess.run(  # noqa: S603 - a list without a shell, the program by its full path
            command, input=content, capture_output=True, check=False, env=environ, timeout=_TIMEOUT_S
        )
    except subprocess.TimeoutExpired as error:
        raise Refused(
            f"GPG did not answer within {_TIMEOUT_S} seconds; does its agent ask for a passphrase?"
        ) from error


def _complaint(done: subprocess.CompletedProcess[bytes]) -> str:
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else "It gave no reason."
