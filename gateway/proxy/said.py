"""What the gateway itself reads of an answer's head: each value has a place of its own, where it is found at once."""

from __future__ import annotations

from typing import Final

from inference_dna import headers as names

CONNECTION: Final = 0
KEEP_ALIVE: Final = 1
TRANSFER_ENCODING: Final = 2
CONTENT_LENGTH: Final = 3
CONTENT_TYPE: Final = 4
CONTENT_ENCODING: Final = 5
CACHE_CONTROL: Final = 6
DATE: Final = 7
RETRY_AFTER: Final = 8
DNA: Final = 9
DIGEST: Final = 10
INPUT_HASH: Final = 11
MODEL_ID: Final = 12
MODEL_VERSION: Final = 13
ASSURANCE: Final = 14
FORMAT: Final = 15
UNREAD: Final = -1

PLACES: Final = {
    b"connection": CONNECTION,
    b"keep-alive": KEEP_ALIVE,
    b"transfer-encoding": TRANSFER_ENCODING,
    b"content-length": CONTENT_LENGTH,
    b"content-type": CONTENT_TYPE,
    b"content-encoding": CONTENT_ENCODING,
    b"cache-control": CACHE_CONTROL,
    b"date": DATE,
    b"retry-after": RETRY_AFTER,
    names.DNA.encode(): DNA,
    names.DIGEST.encode(): DIGEST,
    names.INPUT_HASH.encode(): INPUT_HASH,
    names.MODEL_ID.encode(): MODEL_ID,
    names.MODEL_VERSION.encode(): MODEL_VERSION,
    names.ASSURANCE.encode(): ASSURANCE,
    names.FORMAT.encode(): FORMAT,
}
"""By name in small letters; all others are `UNREAD`."""

Said = list[bytes | None]
"""Values by place; None where the name was not sent."""


def nothing_said() -> Said:
    """Give places without values."""
    return [None] * len(PLACES)
