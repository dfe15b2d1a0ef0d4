"""Reads the head of an HTTP answer as a client saved it (`curl -D`, RFC 9112 section 4)."""

from __future__ import annotations

import re

from inference_dna.canonical import Refused

_STATUS = re.compile(r"HTTP/[0-9.]+ ([0-9]{3})(?: .*)?")


def read_head(content: bytes) -> tuple[int, dict[str, str]]:
    """Read status and headers; of several heads, as redirects leave them, the last counts.

    Returns:
        The status, and values by name in small letters; a name that was sent twice has its values joined with `, `.

    Raises:
        Refused: There is no status line.
    """
    status, headers = None, dict[str, str]()
    for line in content.decode("latin-1").splitlines():
        begins = _STATUS.fullmatch(line)
        if begins is not None:
            status, headers = int(begins[1]), {}
        elif ":" in line:
            name, value = (part.strip() for part in line.split(":", 1))
            known = headers.get(name.lower())
            headers[name.lower()] = value if known is None else f"{known}, {value}"
    if status is None:
        raise Refused("The head of the answer has no status line; save it with curl -D.")
    return status, headers
