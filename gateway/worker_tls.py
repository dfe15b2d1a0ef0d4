"""How the certificate of a worker is checked: the same for probes and for requests."""

from __future__ import annotations

import ssl


class CertificatesUnreadable(Exception):
    """The file of trusted certificates is of no use; the message says why."""


def worker_tls(ca_file: str | None) -> ssl.SSLContext:
    """Make the context for connections to workers.

    Args:
        ca_file: Certificates (PEM) to trust; those of this machine where it is None.

    Raises:
        CertificatesUnreadable: The file cannot be read, or holds no certificate.
    """
    try:
        context = ssl.create_default_context(cafile=ca_file)
    except OSError as error:  # ssl.SSLError is one
        raise CertificatesUnreadable(
            f"GATEWAY_WORKER_CA_FILE: {ca_file} is no file of certificates: {error}"
        ) from error
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    return context
