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
    assert parse_stacks("thread (1): MainThread;__init__ (<string>:2);f (c.py) 1").own() == [("f (c.py)", 1)]


def test_compiled_functions_bear_their_names_in_the_source_and_other_c_code_is_its_callers() -> None:
    frames = (
        "run (loop.py:3)",
        "uv_run (core.c:464)",
        "CPyPy_exchange___Exchange____try (__native_1.c:7)",
        "CPyDef_exchange___Exchange____try (__native_1.c:9)",
        "CPyDef_proxy___identity___Match_____init__ (__native_1.c:5)",
        "CPyDef_headers____encode (__native_1.c:5)",
        "0x7f9dc3f278ec (libc.so.6)",
    )
    text = f"thread (1): MainThread;{';'.join(frames)} 2\nthread (1): MainThread;{frames[0]};write (libc.so.6) 1"

    stacks = parse_stacks(text)

    assert stacks.counts == (
        (("run (loop.py)", "Exchange._try (exchange.py)", "Match.__init__ (identity.py)", "_encode (headers.py)"), 2),
        (("run (loop.py)", "write (system call)"), 1),
    )
