"""Hashes the body of an answer as it passes; of server-sent events without comment lines (dna.md section 13)."""

from __future__ import annotations

from hashlib import sha256


class StreamHash:
    """Gives for any cutting of a body into pieces what `strip_comments` gives for the whole.

    Lines end in LF, CR or CR LF; a line end may be cut in two. Only the state between two pieces is held, never text.
    """

    def __init__(self) -> None:
        self._hasher = sha256()
        self.size = 0
        self._in_comment = False
        self._at_line_start = True
        self._after_cr = False

    def update(self, piece: bytes) -> None:
        """Take the next piece."""
        if self._after_cr and piece.startswith(b"\n"):
            # The second half of a line end belongs to the line before it.
            self._take(b"\n")
            piece = piece[1:]
            self._after_cr = False
        for line in piece.splitlines(keepends=True):
            if self._at_line_start:
                self._in_comment = line.startswith(b":")
            self._take(line)
            self._at_line_start = line.endswith((b"\n", b"\r"))
        if piece:
            self._after_cr = piece.endswith(b"\r")

    @property
    def ends_within_a_line(self) -> bool:
        """Say whether the last line has no end yet."""
        return not self._at_line_start

    def hexdigest(self) -> str:
        """The hash of what was taken."""
        return self._hasher.hexdigest()

    def _take(self, content: bytes) -> None:
        if not self._in_comment:
            self._hasher.update(content)
            self.size += len(content)


class WholeHash:
    """Hashes a body of any other kind."""

    def __init__(self) -> None:
        self._hasher = sha256()
        self.size = 0

    def update(self, piece: bytes) -> None:
        """Take the next piece."""
        self._hasher.update(piece)
        self.size += len(piece)

    @property
    def ends_within_a_line(self) -> bool:
        """Such a body has no lines."""
        return False

    def hexdigest(self) -> str:
        """The hash of what was taken."""
        return self._hasher.hexdigest()
