from __future__ import annotations

from bench.stacks import parse_stacks

RAW = """\
thread (7): MainThread;run (loop.py:3);read (a.py:9);parse (b.py:2) 6
thread (7): MainThread;run (loop.py:3);read (a.py:9) 3
thread (7): MainThread;run (loop.py:3);read (a.py:9);read (a.py:9) 1
thread (8): lines;wait (threading.py:1) 90
"""


def test_own_time_is_the_innermost_function_of_the_serving_thread() -> None:
    stacks = parse_stacks(RAW)

    assert stacks.total == 10
    assert stacks.own() == [("parse (b.py)", 6), ("read (a.py)", 4)]


def test_recursion_counts_once_below() -> None:
    assert dict(parse_stacks(RAW).cumulative()) == {"run (loop.py)": 10, "read (a.py)": 10, "parse (b.py)": 6}


def test_a_name_without_a_line_number_stays_as_it_is() -> None:
    assert parse_stacks("thread (1): MainThread;__init__ (<string>:2);f (c) 1").own() == [("f (c)", 1)]
