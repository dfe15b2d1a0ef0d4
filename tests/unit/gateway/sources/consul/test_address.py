"""Addresses are read strictly, and never show a token."""

from __future__ import annotations

import pytest

from gateway.sources.consul.address import AddressRefused, ConsulAddress, Secret, Tls, parse_address


@pytest.mark.parametrize(
    ("text", "expected", "base_url"),
    [
        ("consul://c", ConsulAddress("c", 8500), "http://c:8500"),
        ("consul://10.0.0.1:80/", ConsulAddress("10.0.0.1", 80), "http://10.0.0.1:80"),
        ("consul://[::1]:8500/a/b/", ConsulAddress("::1", 8500, "a/b"), "http://[::1]:8500"),
        (
            "consul://c/inference?token_file=/run/t&dc=d1&ns=team",
            ConsulAddress("c", 8500, token_file="/run/t", dc="d1", ns="team"),
            "http://c:8500",
        ),
        ("consul://c?tls=true", ConsulAddress("c", 8501, tls=Tls()), "https://c:8501"),
        (
            "consul://c:1?ca_file=ca&cert_file=cert&key_file=key&server_name=s&verify=false",
            ConsulAddress("c", 1, tls=Tls(False, "ca", "cert", "key", "s")),
            "https://c:1",
        ),
    ],
)
def test_understood(text: str, expected: ConsulAddress, base_url: str) -> None:
    address = parse_address(text, {})
    assert address == expected
    assert address.base_url == base_url


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("http://c:8500", "consul://"),
        ("consul:///inference", "no host"),
        ("consul://c:0", "port"),
        ("consul://c:70000", "port"),
        ("consul://c:x", "port"),
        ("consul://c:", "port"),
        ("consul://user:hush@c", "no user"),
        ("consul://c/inference#x", "no #"),
        ("consul://c/in ference", "characters"),
        ("consul://c/../x", "prefix"),
        ("consul://c?token=s3cret", "token_file"),
        ("consul://c?tokenfile=x", "did you mean token_file"),
        ("consul://c?dc=a&dc=b", "twice"),
        ("consul://c?dc=", "no value"),
        ("consul://c?tls=maybe", "true or false"),
        ("consul://c?key_file=k", "cert_file"),
        ("consul://[::1", "cannot be read"),
    ],
)
def test_refused_in_a_sentence(text: str, word: str) -> None:
    with pytest.raises(AddressRefused) as refused:
        parse_address(text, {})
    assert word in str(refused.value)
    assert "s3cret" not in str(refused.value)
    assert "hush" not in str(refused.value)


def test_consuls_own_variables_are_read_where_the_address_is_silent() -> None:
    environ = {
        "CONSUL_HTTP_TOKEN": "s3cret",
        "CONSUL_CACERT": "ca",
        "CONSUL_CLIENT_CERT": "cert",
        "CONSUL_CLIENT_KEY": "key",
        "CONSUL_NAMESPACE": "team",
        "CONSUL_HTTP_SSL_VERIFY": "false",
    }
    address = parse_address("consul://c", environ)
    assert address.tls == Tls(False, "ca", "cert", "key")
    assert address.ns == "team"
    assert address.token == Secret("s3cret")
    assert "s3cret" not in f"{address} {address!r}"
    said = parse_address("consul://c?ns=mine&token_file=f&tls=false", {**environ, "CONSUL_HTTP_TOKEN_FILE": "other"})
    assert (said.ns, said.token_file, said.token, said.tls) == ("mine", "f", None, None)


def test_certificates_that_cannot_be_used_are_a_sentence() -> None:
    with pytest.raises(AddressRefused, match=r"nowhere\.pem"):
        Tls(ca_file="nowhere.pem").context()
