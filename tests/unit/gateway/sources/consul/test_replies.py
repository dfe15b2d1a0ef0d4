"""What Consul says is used whole or not at all (W11)."""

from __future__ import annotations

import pytest

from gateway.sources.consul.failed import ConsulFailed, FailureKind
from gateway.sources.consul.replies import Entry, Operation, Reply, entries_of, refusals_of


def test_keys_with_and_without_a_value() -> None:
    body = b'[{"Key":"a/","Value":null,"ModifyIndex":1},{"Key":"a/b","Value":"AP8=","ModifyIndex":7,"Session":"s"}]'
    assert entries_of(Reply(200, body=body)) == (Entry("a/", None, 1), Entry("a/b", b"\x00\xff", 7, "s"))
    assert entries_of(Reply(404, body=b"")) == ()


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>502</html>",
        b'[{"Key":"a","Value":"AP8=","ModifyIndex":7}',
        b'{"Key":"a"}',
        b"[1]",
        b'[{"Key":"a","Value":"AP8="}]',
        b'[{"Key":"a","Value":"no base64!","ModifyIndex":7}]',
        b'[{"Key":"a","Value":7,"ModifyIndex":7}]',
        b'[{"Key":7,"Value":null,"ModifyIndex":7}]',
        b'[{"Key":"a","Value":null,"ModifyIndex":"7"}]',
        b'[{"Key":"\xff","Value":null,"ModifyIndex":7}]',
    ],
)
def test_anything_else_is_refused(body: bytes) -> None:
    with pytest.raises(ConsulFailed, match="nothing of it is used") as failed:
        entries_of(Reply(200, body=body))
    assert failed.value.kind is FailureKind.MALFORMED


def test_steps_and_refusals_of_a_transaction() -> None:
    step = Operation("cas", "a", b"x", index=3, session="s").document()
    assert step == {"KV": {"Verb": "cas", "Key": "a", "Value": "eA==", "Index": 3, "Session": "s"}}
    body = b'{"Results":null,"Errors":[{"OpIndex":1,"What":"stale"}]}'
    assert refusals_of(Reply(409, body=body)) == ((1, "stale"),)
    with pytest.raises(ConsulFailed):
        refusals_of(Reply(409, body=b"[]"))
