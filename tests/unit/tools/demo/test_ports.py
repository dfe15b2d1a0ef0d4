import socket
from collections.abc import Iterator

import pytest

from tools.demo.ports import (
    ADMIN_PORT_VARIABLE,
    PORT_VARIABLE,
    PortRefused,
    choose_gateway_ports,
    free_ports,
    is_free,
)


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_free_ports_are_different_and_free() -> None:
    ports = free_ports(8)

    assert len(set(ports)) == 8
    assert all(is_free(port) for port in ports)


def test_a_port_that_was_asked_for_is_used() -> None:
    port, admin_port = free_ports(2)

    chosen = choose_gateway_ports({PORT_VARIABLE: str(port), ADMIN_PORT_VARIABLE: f" {admin_port} "})

    assert (chosen.port, chosen.admin_port, chosen.notes) == (port, admin_port, ())


def test_zero_asks_for_any_free_port() -> None:
    chosen = choose_gateway_ports({PORT_VARIABLE: "0", ADMIN_PORT_VARIABLE: "0"})

    assert chosen.port != chosen.admin_port
    assert 0 not in (chosen.port, chosen.admin_port)


def test_a_taken_port_that_was_asked_for_is_refused_with_a_way_out(taken: int) -> None:
    with pytest.raises(PortRefused) as refused:
        choose_gateway_ports({PORT_VARIABLE: str(taken), ADMIN_PORT_VARIABLE: "0"})

    assert f"Port {taken} is taken" in str(refused.value)
    assert f"{PORT_VARIABLE}=0" in str(refused.value)


def test_the_usual_port_gives_way_when_it_is_taken(taken: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.demo.ports.PORT", taken)

    chosen = choose_gateway_ports({ADMIN_PORT_VARIABLE: "0"})

    assert chosen.port not in (taken, chosen.admin_port)
    assert chosen.notes == (
        f"Port {taken} is taken, so {chosen.port} is used instead. {PORT_VARIABLE} chooses another.",
    )


def test_one_port_for_both_is_refused() -> None:
    port = str(free_ports(1)[0])

    with pytest.raises(PortRefused, match="needs two ports"):
        choose_gateway_ports({PORT_VARIABLE: port, ADMIN_PORT_VARIABLE: port})


@pytest.mark.parametrize("asked", ["http", "-1", "65536", "80.5", "８０", "1e3"])
def test_what_is_no_port_number_is_refused(asked: str) -> None:
    with pytest.raises(PortRefused, match="must be a port number"):
        choose_gateway_ports({PORT_VARIABLE: asked})
