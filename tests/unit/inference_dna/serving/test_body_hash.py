from __future__ import annotations

from hashlib import sha256

from hypothesis import given
from hypothesis import strategies as st

from inference_dna.serving.body_hash import StreamHash, WholeHash
from inference_dna.streams import strip_comments

PIECES = st.lists(st.lists(st.sampled_from([b":", b"a", b"\n", b"\r", b"\r\n", b"data: x"])).map(b"".join), max_size=12)


@given(PIECES)
def test_however_a_stream_is_cut_its_hash_is_that_of_the_whole(pieces: list[bytes]) -> None:
    hashed = StreamHash()
    for piece in pieces:
        hashed.update(piece)
    whole = strip_comments(b"".join(pieces))

    assert hashed.hexdigest() == sha256(whole).hexdigest()
    assert hashed.size == len(whole)


@given(PIECES)
def test_it_knows_whether_the_last_line_has_its_end(pieces: list[bytes]) -> None:
    hashed = StreamHash()
    for piece in pieces:
        hashed.update(piece)
    whole = b"".join(pieces)

    assert hashed.ends_within_a_line is (bool(whole) and not whole.endswith((b"\n", b"\r")))


def test_other_bodies_are_hashed_as_they_are() -> None:
    hashed = WholeHash()
    for piece in (b": not a comment\n", b"", b"x"):
        hashed.update(piece)

    assert (hashed.hexdigest(), hashed.size) == (sha256(b": not a comment\nx").hexdigest(), 17)
    assert not hashed.ends_within_a_line
