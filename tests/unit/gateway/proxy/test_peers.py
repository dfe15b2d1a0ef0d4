"""Who may have how many connections, and who may speak for others."""

from __future__ import annotations

from ipaddress import ip_network

import pytest

from gateway.proxy.peers import UNKNOWN, Peers

TRUSTED = (ip_network("10.1.0.0/16"), ip_network("fd00::/8"))


@pytest.mark.parametrize(
    ("address", "is_trusted"),
    [
        ("10.1.2.3", True),
        ("::ffff:10.1.2.3", True),
        ("fd00::7", True),
        ("10.2.0.1", False),
        ("2001:db8::1", False),
        ("fe80::1%eth0", False),
        (UNKNOWN, False),
    ],
)
def test_trust(address: str, is_trusted: bool) -> None:
    assert Peers(TRUSTED, 1).is_trusted(address) is is_trusted
    assert not Peers((), 1).is_trusted(address)


def test_an_address_has_a_bounded_number_of_connections() -> None:
    peers = Peers((), 2)

    assert [peers.admit("192.0.2.1") for _ in range(3)] == [True, True, False]
    assert peers.admit("192.0.2.2")
    peers.leave("192.0.2.1")
    assert peers.admit("192.0.2.1")
    assert not peers.admit("192.0.2.1")


@pytest.mark.parametrize("address", ["127.0.0.1", "127.8.0.1", "::1", "::ffff:127.0.0.1", "10.1.0.1", "-"])
def test_who_stands_for_many_is_not_bounded(address: str) -> None:
    peers = Peers(TRUSTED, 1)

    assert all(peers.admit(address) for _ in range(5))


def test_addresses_that_left_are_forgotten() -> None:
    peers = Peers((), 5)
    for number in range(200):
        peers.admit(f"192.0.2.{number}")
        peers.leave(f"192.0.2.{number}")

    with pytest.raises(KeyError):
        peers.leave("192.0.2.1")
