from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from gateway.worker_tls import CertificatesUnreadable, worker_tls


def test_names_are_checked_whatever_is_trusted() -> None:
    context = worker_tls(None)

    assert context.check_hostname
    assert context.verify_mode is ssl.CERT_REQUIRED


@pytest.mark.parametrize("text", [None, "", "no certificate"])
def test_a_file_of_no_use_is_named(tmp_path: Path, text: str | None) -> None:
    file = tmp_path / "ca.pem"
    if text is not None:
        file.write_text(text)

    with pytest.raises(CertificatesUnreadable, match=r"GATEWAY_WORKER_CA_FILE: .*ca\.pem is no file of certificates"):
        worker_tls(str(file))
