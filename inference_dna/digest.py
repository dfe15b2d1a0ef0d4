"""The hash of the format: `H(name, body)` (dna.md, notation)."""

from __future__ import annotations

from hashlib import sha256
from typing import Final

from inference_dna.canonical import Refused
from inference_dna.headers import FORMAT_NAME

HEX_LENGTH: Final = 64
ALGORITHM = "sha256:"
"""What stands before a digest in documents, headers and contracts; hashed texts hold the bare hex."""

_HEX = b"0123456789abcdef"
_PREFIX = f"{FORMAT_NAME}/"
_PREFIXED_LENGTH = len(ALGORITHM) + HEX_LENGTH


def hashed(name: str, body: str | bytes) -> str:
    """Compute `H(name, body)`: SHA-256 over `inference-dna/1/<name>` LF body, in 64 small hex letters.

    Raises:
        Refused: The body is a text that UTF-8 cannot hold.
    """
    if isinstance(body, str):
        body = _utf8(body)
    return sha256(f"{_PREFIX}{name}\n".encode() + body).hexdigest()


def parse_digest(text: str) -> str:
    """Read a digest as documents and headers write it.

    Args:
        text: `sha256:` and 64 small hex letters.

    Returns:
        The bare 64 hex.

    Raises:
        Refused: The text is anything else.
    """
    if len(text) != _PREFIXED_LENGTH or text[:7] != ALGORITHM or not is_hex(text[7:], HEX_LENGTH):
        raise Refused(f"{text!a} is no digest; write `sha256:` and 64 of 0-9 a-f.")
    return text[7:]


def parse_hex(text: object) -> str:
    """Read a bare digest, 64 small hex letters.

    Raises:
        Refused: The value is anything else.
    """
    if not isinstance(text, str) or not is_hex(text, HEX_LENGTH):
        raise Refused(f"{text!a} is no bare digest; write 64 of 0-9 a-f.")
    return text


def is_hex(text: str, length: int) -> bool:
    """Say whether the text is that many of 0-9 a-f."""
    # Deleting the 16 letters must leave nothing: one pass in C, twice as fast as a pattern, and this is a hot path.
    return len(text) == length and text.isascii() and not text.encode().translate(None, _HEX)


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise Refused(f"The text {text!a} holds a lone surrogate.") from error
