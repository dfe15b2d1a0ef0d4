"""Names of instances: what is known stays, what fails says why."""

from __future__ import annotations

import asyncio

import pytest

from gateway.control.resolver import Resolver, literal

NOWHERE = "no-such-host.invalid"  # RFC 6761: never resolves


def resolve(host: str, known: str = "") -> str:
    return asyncio.run(Resolver().resolve(host, known=known))


@pytest.mark.parametrize(("host", "address"), [("10.0.0.7", "10.0.0.7"), ("::1", "::1"), ("worker-1", None)])
def test_literals(host: str, address: str | None) -> None:
    assert literal(host) == address


def test_an_address_is_its_own_whatever_was_known() -> None:
    assert resolve("10.0.0.7", known="10.0.0.8") == "10.0.0.7"


def test_a_name_has_an_address_and_keeps_it_while_it_is_among_the_names() -> None:
    address = resolve("localhost")

    assert address in ("127.0.0.1", "::1")
    assert resolve("localhost", known=address) == address
    assert resolve("localhost", known="192.0.2.1") == address


def test_a_name_that_cannot_be_resolved_keeps_what_is_known() -> None:
    assert resolve(NOWHERE, known="192.0.2.1") == "192.0.2.1"


@pytest.mark.parametrize("host", [NOWHERE, "a" * 64])
def test_a_name_without_any_address_says_so(host: str) -> None:
    with pytest.raises(OSError, match=f"the name {host} has no address: "):
        resolve(host)
