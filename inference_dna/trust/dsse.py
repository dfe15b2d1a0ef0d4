"""The envelope that signed statements travel in: DSSE version 1 around in-toto statements."""

from __future__ import annotations

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PAYLOAD_TYPE = "application/vnd.in-toto+json"


def pre_authentication(payload_type: str, payload: bytes) -> bytes:
    """What DSSE signs: type and payload, each with its length, so that neither can be taken for a part of the other."""
    kind = payload_type.encode()
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)
