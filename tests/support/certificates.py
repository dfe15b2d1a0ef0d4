"""Certificates for tests, of an authority that only they know."""

from __future__ import annotations

import ssl
from pathlib import Path

import trustme


def context_for(authority: trustme.CA, name: str) -> ssl.SSLContext:
    """What a server under this name speaks TLS with."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name).configure_cert(context)
    return context


def written(authority: trustme.CA, folder: Path) -> Path:
    """Write the certificate to trust into the folder."""
    file = folder / "ca.pem"
    authority.cert_pem.write_to_path(str(file))
    return file
