"""What a stream's receipt covers (dna.md sections 7 and 13)."""

from __future__ import annotations


def strip_comments(body: bytes) -> bytes:
    """Remove every line that begins with `:` from an SSE body, its line end included.

    Lines end in LF, CR or CR LF, as SSE says; a last line without an end is a line. What the gateway put into a
    stream is gone afterwards; so are the worker's own comments.
    """
    return b"".join([line for line in body.splitlines(keepends=True) if not line.startswith(b":")])
