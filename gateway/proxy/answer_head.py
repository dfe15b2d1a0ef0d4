"""What the head of a worker's answer says, read strictly (RFC 9112 sections 4 and 5; http.md section 4.2).

What cannot be framed in exactly one way is malformed, never guessed. A worker says most lines again and again, so a
line is read once and remembered; what it means depends on nothing but its bytes.
"""

from __future__ import annotations

import re
from typing import Final, TypeVar

from gateway.proxy.headers import AnswerLine, named_by_connection, tokens_of
from gateway.proxy.limits import Limits
from gateway.proxy.said import CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING, UNREAD, Said, nothing_said

# Heads are cut at LF, twice as fast as at CRLF, so each line must still end with its CR.
_STATUS_LINE = re.compile(rb"HTTP/([0-9]\.[0-9]) ([0-9]{3})(?: [\t -~\x80-\xff]*+)?\r")
_LINE = re.compile(rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]++):([\t -~\x80-\xff]*+)\r")
_NO_BODY: Final = frozenset({204, 304})
_FRAMING = frozenset({b"content-length", b"transfer-encoding"})
_MAX_LENGTH_DIGITS: Final = 18
_NOTHING: Final[frozenset[bytes]] = frozenset()

_LINES: Final[dict[bytes, AnswerLine]] = {}
_STATUS_LINES: Final[dict[bytes, StatusLine]] = {}
"""Lines that were read before."""
_MOST_REMEMBERED: Final = 1024
_LONGEST_REMEMBERED: Final = 256


_Read = TypeVar("_Read")


class Malformed(Exception):
    """This answer cannot be trusted; the message says why."""


class StatusLine:
    """The first line of an answer; `version` is `1.0` or `1.1`."""

    __slots__ = ("status", "version")

    def __init__(self, version: str, status: int) -> None:
        self.version = version
        self.status = status


class AnswerHead:
    """The final head of a worker's answer.

    Attributes:
        status: HTTP status.
        lines: Its lines in order.
        said: Values that the gateway reads; of a name sent twice the last one.
        repeats_names: One of their names was sent more than once.
        length: Declared length of the body; None for a chunked one.
        has_body: False for HEAD, 204 and 304.
        named: What `Connection` says, in small letters.
        keeps: The worker keeps the connection.
    """

    __slots__ = ("has_body", "keeps", "length", "lines", "named", "repeats_names", "said", "status")

    def __init__(
        self,
        status: int,
        lines: list[AnswerLine],
        said: Said,
        repeats_names: bool,
        length: int | None,
        has_body: bool,
        named: frozenset[bytes],
        keeps: bool,
    ) -> None:
        self.status = status
        self.lines = lines
        self.said = said
        self.repeats_names = repeats_names
        self.length = length
        self.has_body = has_body
        self.named = named
        self.keeps = keeps


def read_answer_head(raw: bytes, limits: Limits, *, head_only: bool) -> AnswerHead | None:
    """Read a whole head, without the empty line that ends it; None for an interim one (1xx but 101).

    Raises:
        Malformed: It cannot be read in exactly one way, or says what nobody asked for.
    """
    others = raw.split(b"\n")
    others.pop()  # behind the last line's end
    first = others.pop(0)
    status_line = _STATUS_LINES.get(first) or read_status_line(first)
    version, status = status_line.version, status_line.status
    if len(others) > limits.max_worker_headers:
        raise Malformed(f"the answer has more than {limits.max_worker_headers} header lines")
    lines, said, repeats_names = _read_lines(others)
    named = _named(lines, said, repeats_names)
    keeps = b"close" not in named and (version == "1.1" or b"keep-alive" in named)
    if repeats_names and sum(line.name in _FRAMING for line in lines) > 1:
        raise Malformed("the answer's framing is stated more than once")
    if status < 200:
        _check_interim(said, keeps=keeps)
        return None
    has_body = not head_only and status not in _NO_BODY
    length = _body_length(said, version, has_body=has_body)
    return AnswerHead(status, lines, said, repeats_names, length, has_body, named, keeps)


def read_status_line(line: bytes) -> StatusLine:
    """Read a first line, which ends with its CR.

    Raises:
        Malformed: It is none, of a version not spoken here, or of a status that is no answer.
    """
    said = _STATUS_LINE.fullmatch(line)
    if said is None:
        raise Malformed("the answer does not begin with a status line")
    version, status = said[1].decode(), int(said[2])
    if version not in ("1.0", "1.1"):
        raise Malformed(f"HTTP/{version} is not spoken here")
    if not 100 <= status <= 599 or status == 101:  # nobody asked for another protocol
        raise Malformed(f"status {status} is no answer to this")
    return _remember(_STATUS_LINES, line, StatusLine(version, status))


def _read_lines(others: list[bytes]) -> tuple[list[AnswerLine], Said, bool]:
    """Read header lines; give them, what they say, and whether a name that is read stands there twice."""
    known, lines, said, repeats_names = _LINES, [], nothing_said(), False
    for other in others:
        line = known.get(other)
        if line is None:
            line = read_line(other)
        lines.append(line)
        place = line.place
        if place != UNREAD:
            repeats_names = repeats_names or said[place] is not None
            said[place] = line.value
    return lines, said, repeats_names


def read_line(line: bytes) -> AnswerLine:
    """Read one header line, which ends with its CR.

    Raises:
        Malformed: It is none; one that continues the line before it among them (RFC 9112 section 5.2).
    """
    said = _LINE.fullmatch(line)
    if said is None:
        raise Malformed("a line of the answer's head is no header line")
    read = AnswerLine(said[1], said[2].strip(b" \t"))
    if read.name in _FRAMING and b"\t" in said[2]:  # a blank to some readers, a part of the value to others
        raise Malformed("the answer's framing is stated with a tab")
    return _remember(_LINES, line, read)


def _remember(known: dict[bytes, _Read], line: bytes, read: _Read) -> _Read:
    """Remember what a line was read as: it is always read as the same value."""
    if len(line) <= _LONGEST_REMEMBERED:
        if len(known) >= _MOST_REMEMBERED:
            known.clear()
        known[line] = read
    return read


def _check_interim(said: Said, *, keeps: bool) -> None:
    """Refuse what would end the connection, or bring a body (RFC 9110 section 8.6, RFC 9112 section 6.1)."""
    if not keeps:
        raise Malformed("an interim answer ends the connection")
    if said[TRANSFER_ENCODING] is not None or said[CONTENT_LENGTH] not in (None, b"0"):
        raise Malformed("an interim answer has a body")


def _named(lines: list[AnswerLine], said: Said, repeats_names: bool) -> frozenset[bytes]:
    """Give what `Connection` says, which most answers say once or not at all."""
    value = said[CONNECTION]
    if value is None:
        return _NOTHING
    if not repeats_names:
        return tokens_of(value)
    return named_by_connection((line.name, line.value) for line in lines)


def _body_length(said: Said, version: str, *, has_body: bool) -> int | None:
    """Give the declared length, None for chunks; refuse what two readers could frame differently."""
    length, coding = said[CONTENT_LENGTH], said[TRANSFER_ENCODING]
    if coding is not None:
        if length is not None:
            raise Malformed("the answer's framing is stated more than once")
        if coding.lower() != b"chunked" or version == "1.0":
            raise Malformed("the answer's transfer coding is not exactly `chunked`")
        return None
    if length is not None:
        if not length.isdigit() or len(length) > _MAX_LENGTH_DIGITS:
            raise Malformed("the answer's length is not a number")
        return int(length)
    if has_body:
        raise Malformed("the answer has neither a length nor chunks: its end cannot be told from a cut")
    return 0
