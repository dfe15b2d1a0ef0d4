"""In which order documents are written, and what fits into one transaction."""

from __future__ import annotations

import json

from gateway.edits.order import MOST_BYTES, batches, ordered
from gateway.edits.place import Change, Held


def contract(version: str, status: str = "active") -> Change:
    text = json.dumps({"model_id": "m", "version": version, "status": status}).encode()
    return Change(f"contracts/m/{version}", None, text)


ROUTE = Change("routes/m", None, b'{"model_id": "m"}')
OLD = Change("contracts/m/v0.9.0", Held("contracts/m/v0.9.0", b"{}", "", "1"), None)


def test_a_contract_comes_before_the_route_and_leaves_after_it() -> None:
    retired, drained, active = contract("v1.0.0", "retired"), contract("v1.1.0", "draining"), contract("v2.0.0")

    assert ordered([OLD, retired, drained, ROUTE, active]) == (active, ROUTE, OLD, retired, drained)


def test_a_text_that_cannot_be_read_is_no_reason_to_fail() -> None:
    broken = Change("contracts/m/v3.0.0", None, b"{")

    assert ordered([ROUTE, broken]) == (broken, ROUTE)


def test_everything_in_one_transaction_where_it_fits() -> None:
    assert batches([10, 20, 34], lambda needed: needed, lambda _: 1) == [[10, 20, 34]]


def test_a_new_transaction_where_operations_or_bytes_run_out() -> None:
    assert batches([40, 24, 1], lambda needed: needed, lambda _: 1) == [[40, 24], [1]]
    assert batches(["a", "b", "c"], lambda _: 1, lambda _: MOST_BYTES // 2) == [["a", "b"], ["c"]]


def test_what_never_fits_stands_alone_and_is_for_the_server_to_refuse() -> None:
    assert batches([1, 100, 1], lambda needed: needed, lambda _: 1) == [[1], [100], [1]]
    assert batches([], lambda _: 1, lambda _: 1) == []
