"""Workers that speak TLS: the certificate is checked before a probe or a request is sent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import trustme

from tests.support.certificates import context_for, written
from tests.support.gateway_process import GatewayProcess, http, write_documents
from tests.support.stub_worker import StubWorker, contract_for


@contextmanager
def trusting(folder: Path, authority: trustme.CA, *workers: StubWorker, host: str) -> Iterator[GatewayProcess]:
    """A gateway that trusts the authority, over these workers under that name."""
    urls = [worker.url.replace("127.0.0.1", host) for worker in workers]
    with GatewayProcess(folder / "documents", worker_ca_file=written(authority, folder)) as gateway:
        write_documents(folder / "documents", contract_for(*workers, instances=urls))
        yield gateway


def test_requests_and_probes_go_over_tls_to_an_address_or_a_name(tmp_path: Path) -> None:
    authority = trustme.CA()
    for host in ("localhost", "127.0.0.1"):
        folder = tmp_path / host
        folder.mkdir()
        with (
            StubWorker(tls=context_for(authority, host)) as worker,
            trusting(folder, authority, worker, host=host) as gateway,
        ):
            gateway.wait_verified(1)
            answers = [http(gateway.url + "/generate", method="POST", body=b"{}")[0] for _ in range(3)]

        assert answers == [200, 200, 200]
        assert worker.connections - worker.probes == 1  # kept, as one without TLS is


def test_a_certificate_of_somebody_else_or_for_another_name_is_not_trusted(tmp_path: Path) -> None:
    authority, somebody = trustme.CA(), trustme.CA()
    with (
        StubWorker(name="foreign", tls=context_for(somebody, "localhost")) as foreign,
        StubWorker(name="misnamed", tls=context_for(authority, "other.example")) as misnamed,
        trusting(tmp_path, authority, foreign, misnamed, host="localhost") as gateway,
    ):
        gateway.wait_for(
            lambda: all(one["last_probe"] for one in gateway.status()["instances"] or [{"last_probe": None}]),
            what="both probes",
        )
        details = {one["url"]: one["last_probe"]["detail"] for one in gateway.status()["instances"]}
        status = http(gateway.url + "/generate", method="POST", body=b"{}")[0]

    assert all("certificate verify failed" in detail for detail in details.values()), details
    assert "certificate is not valid for 'localhost'" in details[misnamed.url.replace("127.0.0.1", "localhost")]
    assert status == 503
    assert foreign.seen == misnamed.seen == []
