"""Where a Consul server is and how to speak to it: `consul://HOST:PORT/PREFIX?token_file=...`, read strictly."""

from __future__ import annotations

import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from gateway.printable import printable

PREFIX = "inference"
"""Where documents lie when the address does not say."""

_PORT, _TLS_PORT = 8500, 8501
_OPTIONS = ("token_file", "dc", "ns", "tls", "verify", "ca_file", "cert_file", "key_file", "server_name")
_FORM = "write consul://HOST:PORT/inference?token_file=FILE"
_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*")
_KEY_PREFIX = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*)*")
_TRUTH = {"true": True, "1": True, "false": False, "0": False}
_FROM_ENVIRONMENT = {
    "token_file": "CONSUL_HTTP_TOKEN_FILE",
    "ns": "CONSUL_NAMESPACE",
    "tls": "CONSUL_HTTP_SSL",
    "verify": "CONSUL_HTTP_SSL_VERIFY",
    "ca_file": "CONSUL_CACERT",
    "cert_file": "CONSUL_CLIENT_CERT",
    "key_file": "CONSUL_CLIENT_KEY",
    "server_name": "CONSUL_TLS_SERVER_NAME",
}
"""Variables of Consul's own programs, read where the address does not say (reference page `consul`, section 7)."""


class AddressRefused(ValueError):
    """The text is no address of Consul; the message says what to write. It never holds a token."""


@dataclass(frozen=True, slots=True)
class ConsulAddress:
    """Where Consul is. Holds no secret in what it shows.

    Attributes:
        host: Name or literal address, an IPv6 one without brackets.
        port: Of the HTTP API.
        prefix: Where documents lie, without slashes at its ends.
        token_file: File that holds the token; it is read again before each attempt.
        token: The token itself, from the environment only, where no file is named.
        dc: Datacenter; that of the agent where it is None.
        ns: Namespace, of Consul Enterprise.
        tls: Speak TLS, by this context.
    """

    host: str
    port: int
    prefix: str = PREFIX
    token_file: str | None = None
    token: Secret | None = None
    dc: str | None = None
    ns: str | None = None
    tls: Tls | None = None

    @property
    def base_url(self) -> str:
        """Scheme, host and port."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.tls else 'http'}://{host}:{self.port}"

    def __str__(self) -> str:
        return f"consul://{self.base_url.partition('://')[2]}/{self.prefix}"


@dataclass(frozen=True, slots=True)
class Secret:
    """Text that never shows."""

    value: str

    def __repr__(self) -> str:
        return "<secret>"

    __str__ = __repr__


@dataclass(frozen=True, slots=True)
class Tls:
    """How the server is checked and how we show who we are; files are PEM."""

    verify: bool = True
    ca_file: str | None = None
    cert_file: str | None = None
    key_file: str | None = None
    server_name: str | None = None

    def context(self) -> ssl.SSLContext:
        """Make the context; files are read now.

        Raises:
            AddressRefused: A file cannot be used.
        """
        try:
            context = ssl.create_default_context(cafile=self.ca_file)
            if not self.verify:
                context.check_hostname = False
                context.verify_mode = ssl.CERT_NONE
            if self.cert_file is not None:
                context.load_cert_chain(self.cert_file, self.key_file)
        except OSError as error:  # ssl.SSLError is one
            files = ", ".join(file for file in (self.ca_file, self.cert_file, self.key_file) if file)
            raise AddressRefused(f"the certificates for Consul cannot be used ({files}): {error}") from error
        return context


def parse_address(text: str, environ: Mapping[str, str]) -> ConsulAddress:
    """Read an address.

    Args:
        text: `consul://HOST[:PORT][/PREFIX][?OPTIONS]`; options are token_file, dc, ns, tls, verify, ca_file,
            cert_file, key_file, server_name.
        environ: Variables of Consul's own programs, for what the text does not say.

    Raises:
        AddressRefused: It cannot be understood.
    """
    split = _split(text)
    options = _options(split.query)
    said = {name: environ[variable] for name, variable in _FROM_ENVIRONMENT.items() if environ.get(variable)} | options
    tls = _tls(said)
    token = environ.get("CONSUL_HTTP_TOKEN")
    return ConsulAddress(
        host=_host(split, text),
        port=_port(split, tls),
        prefix=_prefix(split),
        token_file=said.get("token_file"),
        token=Secret(token) if token and "token_file" not in said else None,
        dc=said.get("dc"),
        ns=said.get("ns"),
        tls=tls,
    )


def _split(text: str) -> SplitResult:
    if not text.isprintable() or " " in text:
        raise AddressRefused(f"the address of Consul has characters that do not belong there; {_FORM}")
    try:
        split = urlsplit(text)
    except ValueError as error:
        raise AddressRefused(f"the address of Consul cannot be read ({error}); {_FORM}") from error
    if split.scheme != "consul":
        raise AddressRefused(f"the address of Consul begins with consul://; {_FORM}")
    if "@" in split.netloc:
        raise AddressRefused(f"an address holds no user and no password; {_FORM}")
    if split.fragment or text.endswith("#"):
        raise AddressRefused(f"an address holds no #; {_FORM}")
    return split


def _host(split: SplitResult, text: str) -> str:
    host = split.hostname or ""
    if not _HOST.fullmatch(host):
        raise AddressRefused(f"{printable(text.partition('?')[0])} names no host of Consul; {_FORM}")
    return host


def _port(split: SplitResult, tls: Tls | None) -> int:
    try:
        port = split.port
    except ValueError as error:
        raise AddressRefused(f"the port of Consul is a number from 1 to 65535; {_FORM}") from error
    if port == 0 or split.netloc.endswith(":"):
        raise AddressRefused(f"the port of Consul is a number from 1 to 65535; {_FORM}")
    return port or (_TLS_PORT if tls else _PORT)


def _prefix(split: SplitResult) -> str:
    prefix = unquote(split.path).strip("/")
    if prefix and not _KEY_PREFIX.fullmatch(prefix):
        raise AddressRefused(f"{printable(prefix)!r} is no prefix of keys: write letters, digits, . _ - and / between")
    return prefix or PREFIX


def _options(query: str) -> dict[str, str]:
    options: dict[str, str] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name == "token":
            raise AddressRefused("a token does not belong into an address, which people see; write token_file=FILE")
        if name not in _OPTIONS:
            near = get_close_matches(name, _OPTIONS, n=1)
            hint = f"; did you mean {near[0]}?" if near else f"; there are {', '.join(_OPTIONS)}"
            raise AddressRefused(f"{printable(name)!r} is no option of an address of Consul{hint}")
        if name in options:
            raise AddressRefused(f"the address of Consul says {name} twice; keep one")
        if not value:
            raise AddressRefused(f"the address of Consul says {name}= and no value")
        options[name] = value
    return options


def _tls(said: Mapping[str, str]) -> Tls | None:
    """Give how TLS is spoken; None for plain HTTP. A file of certificates is a wish for TLS."""
    files = {name: said[name] for name in ("ca_file", "cert_file", "key_file", "server_name") if name in said}
    if "key_file" in files and "cert_file" not in files:
        raise AddressRefused("the address of Consul names key_file without cert_file; name both")
    if not _truth(said, "tls", default=bool(files)):
        return None
    return Tls(verify=_truth(said, "verify", default=True), **files)


def _truth(said: Mapping[str, str], name: str, *, default: bool) -> bool:
    if name not in said:
        return default
    value = _TRUTH.get(said[name].lower())
    if value is None:
        raise AddressRefused(f"{name} of the address of Consul is true or false, not {printable(said[name])!r}")
    return value
