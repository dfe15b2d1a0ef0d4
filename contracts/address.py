"""Where an instance is dialled: a base URL, read strictly."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv6Address

from contracts.faults import quoted

HEALTH_PATH = "/healthz"
HOST_PLACE = "{host}"
"""In a `health_url`, stands for the host of the instance that is probed."""

_LONGEST = 2_000
_LABEL = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_HOST = rf"{_LABEL}(?:\.{_LABEL})*\.?"
_URL = re.compile(
    rf"(?P<scheme>https?)://(?:(?P<host>{_HOST})|\[(?P<six>[0-9A-Fa-f:.]+)\])(?::(?P<port>[0-9]{{1,5}}))?"
    r"(?P<path>(?:/[A-Za-z0-9._~!$&'()*+,;=:@%-]*)*)",
    re.IGNORECASE,
)
_PORTS = {"http": 80, "https": 443}
_MAX_PORT = 65_535


class AddressError(ValueError):
    """The text is no address that can be dialled; the message says why."""


@dataclass(frozen=True, slots=True)
class Address:
    """One base URL in its parts. Two spellings of one address have the same `url`."""

    url: str
    """Scheme and host in small letters, a default port and a slash at the end left out."""
    host: str
    """Without brackets."""
    port: int
    tls: bool
    base_path: str
    """Put in front of every path; empty, or beginning with a slash and not ending in one."""

    @property
    def authority(self) -> str:
        """`host:port`, with brackets around an IPv6 address."""
        return f"{_bracketed(self.host)}:{self.port}"


def parse_address(text: str) -> Address:
    """Read a base URL.

    Raises:
        AddressError: The text is no http or https URL, or holds a user, a query, a fragment or a port out of range.
    """
    found = _URL.fullmatch(text) if len(text) <= _LONGEST else None
    if found is None:
        raise AddressError(f"{quoted(text)} is no address: {_explain(text)}")
    scheme = found["scheme"].lower()
    host = _six(found["six"], text) if found["six"] else found["host"].lower()
    port = int(found["port"]) if found["port"] else _PORTS[scheme]
    if not 1 <= port <= _MAX_PORT:
        raise AddressError(f"{quoted(text)} is no address: ports go from 1 to {_MAX_PORT}.")
    path = found["path"].rstrip("/")
    if {".", ".."} & set(path.split("/")):
        raise AddressError(f"{quoted(text)} is no address: write its path without . and .. parts.")
    shown_port = "" if port == _PORTS[scheme] else f":{port}"
    return Address(f"{scheme}://{_bracketed(host)}{shown_port}{path}", host, port, scheme == "https", path)


def health_address(health_url: str | None, instance: Address) -> str:
    """Say where one instance is probed.

    Args:
        health_url: None for `/healthz` under the instance's base URL; a path on the instance's host and port; or a
            whole URL, in which `{host}` stands for the instance's host.
        instance: The instance.
    """
    if health_url is None:
        return instance.url + HEALTH_PATH
    if health_url.startswith("/"):
        return instance.url.removesuffix(instance.base_path) + health_url
    return health_url.replace(HOST_PLACE, _bracketed(instance.host))


def parse_health_url(text: str) -> str:
    """Return the text if it can say where instances are probed; forms as in `health_address`.

    Raises:
        AddressError: The text is none of these forms.
    """
    if text.startswith("/"):
        parse_address("http://host" + text)
        return text
    if "://" not in text:
        example = f"http://{HOST_PLACE}:9400/healthz"
        raise AddressError(f"{quoted(text)} is no path and no address; write a path like /healthz, or {example}.")
    parse_address(text.replace(HOST_PLACE, "host"))
    return text


def _six(text: str, whole: str) -> str:
    try:
        return IPv6Address(text).compressed
    except AddressValueError as error:
        raise AddressError(f"{quoted(whole)} is no address: {quoted(text)} is no IPv6 address.") from error


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _explain(text: str) -> str:
    if len(text) > _LONGEST:
        return f"it is longer than {_LONGEST} characters."
    scheme, found, rest = text.partition("://")
    if not found and _URL.fullmatch(f"http://{text}"):
        return f"it must say how it is spoken to; write http://{text}, or https://{text}."
    if not found or scheme.lower() not in _PORTS:
        return "it must begin with http:// or https://."
    if "@" in rest.split("/")[0]:
        return "it must not hold a user or a password."
    if "?" in rest or "#" in rest:
        return "it must not hold a query or a fragment."
    return "write http://host:port, like http://10.0.0.7:9001."
