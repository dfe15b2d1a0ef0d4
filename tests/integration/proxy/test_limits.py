"""Limits of a version's bodies, forwarding headers of trusted proxies, and instances that are named."""

from __future__ import annotations

from pathlib import Path

from tests.support.gateway_process import GatewayProcess, http, write_documents
from tests.support.raw import talk
from tests.support.stub_worker import StubWorker, contract_for


def test_a_contract_may_take_more_or_less_than_the_gateway_does(tmp_path: Path) -> None:
    small, large = StubWorker(seed="a", version="v1.0.0"), StubWorker(seed="b", version="v2.0.0")
    with small, large, GatewayProcess(tmp_path, max_body=1000) as gateway:
        write_documents(
            tmp_path,
            contract_for(small, limits={"max_body_bytes": 10}),
            contract_for(large, limits={"max_body_bytes": 3000}),
            routes={"model_id": "m", "default": "v2.0.0"},
        )
        gateway.wait_verified(2)
        answers = {
            (version, size): http(f"{gateway.url}/{version}/generate", method="POST", body=b"x" * size)[0]
            for version, size in [("v1.0.0", 10), ("v1.0.0", 11), ("v2.0.0", 3000), ("v2.0.0", 3001)]
        }
        default = http(f"{gateway.url}/generate", method="POST", body=b"x" * 2000)[0]

    assert answers == {("v1.0.0", 10): 200, ("v1.0.0", 11): 413, ("v2.0.0", 3000): 200, ("v2.0.0", 3001): 413}
    assert default == 200


def test_a_body_too_large_for_its_version_is_refused_before_it_comes(tmp_path: Path) -> None:
    with StubWorker() as worker, GatewayProcess(tmp_path) as gateway:
        write_documents(tmp_path, contract_for(worker, limits={"max_body_bytes": 10}))
        gateway.wait_verified(1)
        head = b"POST /v1.0.0/generate HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n"

        waiting = talk(gateway.port, [head + b"\r\n"])
        asking = talk(gateway.port, [head + b"Expect: 100-continue\r\n\r\n"])

    for conversation in (waiting, asking):
        assert [response.status for response in conversation.responses] == [413]
        assert "takes no body larger than 10 bytes" in conversation.responses[0].body.decode()
        assert conversation.closed


def test_what_a_trusted_proxy_says_of_its_client_reaches_the_worker(tmp_path: Path) -> None:
    with StubWorker() as worker:
        seen = []
        for trusted in ("", "127.0.0.0/8"):
            folder = tmp_path / (trusted.replace("/", "-") or "none")
            with GatewayProcess(folder, trusted_proxies=trusted) as gateway:
                write_documents(folder, contract_for(worker))
                gateway.wait_verified(1)
                http(gateway.url + "/generate", method="POST", body=b"{}", headers={"X-Forwarded-For": "6.6.6.6"})
            seen.append(worker.seen[-1].header("x-forwarded-for"))

    assert seen == [b"127.0.0.1", b"6.6.6.6, 127.0.0.1"]


def test_an_instance_may_be_named(tmp_path: Path) -> None:
    with StubWorker() as worker, GatewayProcess(tmp_path) as gateway:
        url = worker.url.replace("127.0.0.1", "localhost")
        write_documents(tmp_path, contract_for(worker, instances=[url]))
        gateway.wait_verified(1)
        status, _, body = http(gateway.url + "/generate", method="POST", body=b"{}")
        (instance,) = gateway.status()["instances"]

    assert status == 200, body
    assert (instance["url"], instance["address"]) == (url, "127.0.0.1")
    assert worker.seen[-1].header("host") == url.removeprefix("http://").encode()


def test_a_name_that_cannot_be_resolved_is_down_and_says_why(tmp_path: Path) -> None:
    with StubWorker() as worker, GatewayProcess(tmp_path) as gateway:
        write_documents(tmp_path, contract_for(worker, instances=["http://no-such-host.invalid:9001"]))
        gateway.wait_for(lambda: any(one["last_probe"] for one in gateway.status()["instances"]), what="a probe")
        (instance,) = gateway.status()["instances"]

    assert instance["address"] == ""
    assert instance["last_probe"]["detail"].startswith("the name no-such-host.invalid has no address")


def test_a_body_in_chunks_is_refused_as_soon_as_it_is_too_large(tmp_path: Path) -> None:
    with StubWorker() as worker, GatewayProcess(tmp_path) as gateway:
        write_documents(tmp_path, contract_for(worker, limits={"max_body_bytes": 10}))
        gateway.wait_verified(1)
        head = b"POST /v1.0.0/generate HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"

        open_ended = talk(gateway.port, [head, b"6\r\nabcdef\r\n", b"5\r\nabc"])
        whole = talk(gateway.port, [head + b"b\r\nabcdefghijk\r\n0\r\n\r\n"])
        fits = talk(gateway.port, [head + b"a\r\nabcdefghij\r\n0\r\n\r\n"])

    for refused in (open_ended, whole):
        assert [response.status for response in refused.responses] == [413]
        assert refused.responses[0].header("connection") == "close"
        assert refused.closed
    assert [response.status for response in fits.responses] == [200]
