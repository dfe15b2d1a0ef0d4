"""Base64url without padding (RFC 4648 section 5), read strictly: a signature must not have many spellings."""

from __future__ import annotations

import base64
import binascii


def encode_base64url(content: bytes) -> str:
    """Write bytes."""
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def decode_base64url(text: str) -> bytes | None:
    """Read bytes; None where the text is not exactly what `encode_base64url` writes."""
    try:
        content = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
    return content if encode_base64url(content) == text else None
