from __future__ import annotations

import io
import threading
import time

from gateway.telemetry.lines import LineWriter


class Slow(io.BytesIO):
    """Takes nothing until let go, as a full pipe does."""

    def __init__(self) -> None:
        super().__init__()
        self.open = threading.Event()

    def write(self, text: object) -> int:
        self.open.wait(5)
        return super().write(text)  # type: ignore[arg-type]


class Broken(io.BytesIO):
    def write(self, text: object) -> int:
        raise BrokenPipeError


def test_lines_come_out_whole_and_in_order() -> None:
    stream = io.BytesIO()
    lines = LineWriter(stream, flush_s=0.005)
    for number in range(3000):
        lines.put(b"line %d\n" % number)
    lines.close()

    assert stream.getvalue() == b"".join(b"line %d\n" % number for number in range(3000))
    assert lines.dropped == 0


def test_a_line_is_written_without_closing() -> None:
    stream = io.BytesIO()
    lines = LineWriter(stream, flush_s=0.005)
    lines.put(b"one\n")
    deadline = time.monotonic() + 5
    while not stream.getvalue() and time.monotonic() < deadline:
        time.sleep(0.005)

    assert stream.getvalue() == b"one\n"
    lines.close()


def test_of_lines_put_together_those_that_find_room_are_written() -> None:
    stream = Slow()
    lines = LineWriter(stream, capacity=3, flush_s=60)
    lines.put(b"a\nb\n", 2)
    lines.put(b"c\nd\ne\n", 3)
    stream.open.set()
    lines.close()

    assert stream.getvalue() == b"a\nb\nc\n"
    assert lines.dropped == 2


def test_what_was_written_makes_room() -> None:
    stream = io.BytesIO()
    lines = LineWriter(stream, capacity=2, flush_s=0.005)
    for number in range(5):
        lines.put(b"%d a\n%d b\n" % (number, number), 2)
        deadline = time.monotonic() + 5
        while stream.getvalue().count(b"\n") < 2 * number + 2 and time.monotonic() < deadline:
            time.sleep(0.005)
    lines.close()

    assert stream.getvalue().count(b"\n") == 10
    assert lines.dropped == 0


def test_a_stream_that_takes_nothing_costs_lines_and_no_waiting() -> None:
    stream = Slow()
    lines = LineWriter(stream, capacity=10, flush_s=0.005)
    began = time.monotonic()
    for number in range(5000):
        lines.put(b"%d\n" % number)
    took = time.monotonic() - began
    stream.open.set()
    lines.close()

    assert took < 1.0
    assert lines.dropped > 0
    assert stream.getvalue().count(b"\n") + lines.dropped == 5000


def test_a_reader_that_is_gone_ends_writing_and_nothing_else() -> None:
    lines = LineWriter(Broken(), flush_s=0.005)
    lines.put(b"one\n")
    time.sleep(0.05)
    lines.put(b"two\n")
    lines.close()

    assert lines.dropped == 2


def test_after_closing_lines_are_counted_as_lost() -> None:
    lines = LineWriter(io.BytesIO())
    lines.close()
    lines.put(b"late\n")

    assert lines.dropped == 1


def test_while_lines_keep_coming_they_are_written_sooner() -> None:
    stream = io.BytesIO()
    lines = LineWriter(stream, flush_s=2.0)
    lines.put(b"after two seconds\n")
    wait_for(stream, b"after two seconds\n")
    began = time.monotonic()
    lines.put(b"after a fifth of it\n")
    wait_for(stream, b"after a fifth of it\n")

    assert time.monotonic() - began < 1.5
    lines.close()


def test_much_is_written_in_pieces() -> None:
    sizes = list[int]()

    class Weighed(io.BytesIO):
        def write(self, text: object) -> int:
            sizes.append(super().write(text))  # type: ignore[arg-type]
            return sizes[-1]

    lines = LineWriter(Weighed(), flush_s=60)
    for _ in range(1_000):
        lines.put(b"x" * 599 + b"\n")
    lines.close()

    assert sum(sizes) == 600_000
    assert max(sizes) < 64 * 1024


def wait_for(stream: io.BytesIO, text: bytes) -> None:
    deadline = time.monotonic() + 10
    while text not in stream.getvalue():
        assert time.monotonic() < deadline
        time.sleep(0.005)
