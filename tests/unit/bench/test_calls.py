from __future__ import annotations

from bench.calls import Stat, counted
from bench.places import ROOT


def test_calls_are_divided_by_requests_and_the_start_is_left_out() -> None:
    stats: dict[tuple[str, int, str], Stat] = {
        (str(ROOT / "gateway/proxy/relay.py"), 3, "begin"): (100, 100, 0.001, 0.01, {}),
        ("/usr/lib/python3/re.py", 3, "match"): (200, 200, 0.002, 0.002, {}),
        ("~", 0, "<built-in method builtins.len>"): (300, 300, 0.001, 0.001, {}),
        ("/usr/lib/python3/importlib.py", 1, "find"): (10, 10, 5.0, 5.0, {}),
    }

    seen = counted(stats, 100)

    assert (seen.python, seen.in_c) == (3.0, 3.0)
    assert [called.function for called in seen.functions] == ["match (re.py)", "begin (gateway/proxy/relay.py)"]
    assert seen.functions[1].own_us == 10.0
