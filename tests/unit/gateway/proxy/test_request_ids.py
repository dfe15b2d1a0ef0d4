from __future__ import annotations

from gateway.proxy.request_ids import RequestIds


def test_ids_count_on_across_blocks() -> None:
    ids = RequestIds("ab" * 6, 2**40 - 5000)

    made = [ids.new() for _ in range(10_000)]

    assert made == ["ab" * 6 + f"{2**40 - 5000 + number:013x}" for number in range(10_000)]
