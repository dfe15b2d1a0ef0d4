from __future__ import annotations

from bench.upstream.nginx import accepted_of

COUNTS = "Active connections: 2 \nserver accepts handled requests\n 311 310 12345 \nReading: 0 Writing: 1 Waiting: 1 \n"


def test_accepted_connections_are_read_off_what_nginx_says() -> None:
    assert accepted_of(COUNTS) == 311
