import pytest

from contracts.address import Address, AddressError, health_address, parse_address, parse_health_url


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("http://10.0.0.7:9001", Address("http://10.0.0.7:9001", "10.0.0.7", 9001, False, "")),
        ("HTTP://Host.Example:80/", Address("http://host.example", "host.example", 80, False, "")),
        ("https://host", Address("https://host", "host", 443, True, "")),
        ("https://host:8443/a/b/", Address("https://host:8443/a/b", "host", 8443, True, "/a/b")),
        ("http://[::1]:8000/x", Address("http://[::1]:8000/x", "::1", 8000, False, "/x")),
        ("http://[2001:DB8:0:0::1]", Address("http://[2001:db8::1]", "2001:db8::1", 80, False, "")),
        (
            "http://a_b-c.svc.local.:1/%41~x",
            Address("http://a_b-c.svc.local.:1/%41~x", "a_b-c.svc.local.", 1, False, "/%41~x"),
        ),
    ],
)
def test_addresses_have_one_spelling(text: str, address: Address) -> None:
    assert parse_address(text) == address
    assert parse_address(address.url) == address


def test_the_authority_always_names_the_port() -> None:
    assert parse_address("http://host").authority == "host:80"
    assert parse_address("https://[::1]").authority == "[::1]:443"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "must begin with http:// or https://"),
        ("host:80", "write http://host:80, or https://host:80."),
        ("ftp://host", "must begin with http:// or https://"),
        ("http://user:word@host", "must not hold a user"),
        ("http://host/?a=1", "must not hold a query"),
        ("http://host/#a", "must not hold a query or a fragment"),
        ("http://", "write http://host:port"),
        ("http://:80", "write http://host:port"),
        ("http://host:", "write http://host:port"),
        ("http://host:abc", "write http://host:port"),
        ("http://ho st", "write http://host:port"),
        ("http://host\n", "write http://host:port"),
        ("http://höst", "write http://host:port"),
        ("http://-host", "write http://host:port"),
        ("http://host/a b", "write http://host:port"),
        ("http://host:0", "ports go from 1 to 65535"),
        ("http://host:99999", "ports go from 1 to 65535"),
        ("http://host/a/../b", "without . and .. parts"),
        ("http://[::1::2]", "is no IPv6 address"),
        ("http://host/" + "a" * 2000, "longer than 2000"),
    ],
)
def test_what_cannot_be_dialled_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(AddressError, match=sentence):
        parse_address(text)


@pytest.mark.parametrize(
    ("health_url", "instance", "probed"),
    [
        pytest.param(None, "http://a:1", "http://a:1/healthz", id="default"),
        pytest.param(None, "http://a:1/base", "http://a:1/base/healthz", id="default-below-the-base-path"),
        pytest.param("/live", "http://a:1/base", "http://a:1/live", id="path-on-the-same-port"),
        pytest.param("/live", "http://a:1", "http://a:1/live", id="path"),
        pytest.param("http://attestor:9/x", "http://a:1", "http://attestor:9/x", id="one-address"),
        pytest.param("https://{host}:9/x", "http://a:1/base", "https://a:9/x", id="same-host-another-port"),
        pytest.param("http://{host}:9/x", "http://[::1]:1", "http://[::1]:9/x", id="same-host-ipv6"),
    ],
)
def test_where_an_instance_is_probed(health_url: str | None, instance: str, probed: str) -> None:
    if health_url is not None:
        assert parse_health_url(health_url) == health_url

    assert health_address(health_url, parse_address(instance)) == probed


@pytest.mark.parametrize("text", ["", "healthz", "/a?b", "/a b", "ftp://x", "http://{name}:1/", "http://x/{host}/y z"])
def test_other_health_urls_are_refused(text: str) -> None:
    with pytest.raises(AddressError):
        parse_health_url(text)
