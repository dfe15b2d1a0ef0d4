"""Health replies as Consul 1.8 writes them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from contracts.version import Version
from gateway.sources.consul.failed import ConsulFailed, FailureKind
from gateway.sources.consul.registrations import read_registrations
from gateway.sources.listing import CheckState, Registration

NODE = {"ID": "e5", "Node": "gpu7", "Address": "10.0.3.7", "Datacenter": "dc1", "Meta": {"consul-network-segment": ""}}
SERF = {"Node": "gpu7", "CheckID": "serfHealth", "Status": "passing", "Notes": "", "Output": "Agent alive"}


def entry(*checks: dict[str, Any], meta: dict[str, str] | None = None, **service: Any) -> dict[str, Any]:
    stated = {"version": "v2.4.0"} if meta is None else meta
    return {
        "Node": NODE,
        "Service": {
            "ID": "bert-1", "Service": "bert", "Tags": [], "Address": "10.0.3.8", "Port": 8000, "Meta": stated,
            "Weights": {"Passing": 10, "Warning": 2}, "EnableTagOverride": False, "Proxy": {}, **service,
        },
        "Checks": [SERF, *checks],
    }  # fmt: skip


def check(status: str, check_id: str = "service:bert-1", notes: str = "") -> dict[str, Any]:
    return {"Node": "gpu7", "CheckID": check_id, "Status": status, "Notes": notes, "ServiceID": "bert-1"}


def read(*entries: dict[str, Any]) -> tuple[Registration, ...]:
    return read_registrations(json.dumps(entries).encode())


def test_everything_of_an_entry() -> None:
    meta = {"version": "2.4.0", "model_id": "bert-base-chinese", "dna": "a1b2c3d4"}
    (one,) = read(entry(check("passing"), meta=meta))

    assert (one.key, one.shown, one.fault) == (("gpu7", "bert-1"), "10.0.3.8:8000", "")
    assert one.address is not None
    assert one.address.url == "http://10.0.3.8:8000"
    assert (one.version, one.model_id, one.dna) == (Version.parse("v2.4.0"), "bert-base-chinese", "a1b2c3d4")
    assert (one.check, one.weight, one.maintenance) == (CheckState.PASSING, 10.0, None)


def test_an_empty_list_is_a_list() -> None:
    assert read() == ()


@pytest.mark.parametrize(
    ("service", "url"),
    [
        pytest.param({"Address": ""}, "http://10.0.3.7:8000", id="the-nodes-address-where-the-service-has-none"),
        pytest.param({"Address": "Worker-1.GPU.local"}, "http://worker-1.gpu.local:8000", id="a-name"),
        pytest.param({"Address": "2001:DB8::7"}, "http://[2001:db8::7]:8000", id="ipv6"),
        pytest.param({"Port": 80}, "http://10.0.3.8", id="the-port-of-http"),
        pytest.param({"meta": {"scheme": "http"}}, "http://10.0.3.8:8000", id="plain-and-said-so"),
        pytest.param({"meta": {"scheme": "https"}}, "https://10.0.3.8:8000", id="tls"),
        pytest.param({"meta": {"scheme": "https"}, "Port": 443}, "https://10.0.3.8", id="the-port-of-https"),
        pytest.param({"meta": {"scheme": "https"}, "Address": "::1"}, "https://[::1]:8000", id="tls-to-ipv6"),
    ],
)
def test_the_address(service: dict[str, Any], url: str) -> None:
    (one,) = read(entry(**service))

    assert one.address is not None
    assert one.address.url == url


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        pytest.param({"Port": 0}, '"10.0.3.8:0" cannot be dialled; register a host', id="no-port"),
        pytest.param({"Address": "10.0.3.8/x y"}, "cannot be dialled", id="no-host"),
        pytest.param({"meta": {}}, "names no version; write it into Meta.version", id="no-version"),
        pytest.param(
            {"meta": {"version": "2.4"}}, 'Meta.version: "2.4" is no version: three numbers', id="two-numbers"
        ),
        pytest.param({"Meta": None}, "names no version", id="no-meta"),
        pytest.param(
            {"meta": {"version": "v2.4.0", "scheme": "grpc"}},
            'Meta.scheme: "grpc" is no scheme; write http or https, or leave it out',
            id="another-scheme",
        ),
        pytest.param({"meta": {"version": "v2.4.0", "scheme": ""}}, 'Meta.scheme: "" is no', id="an-empty-scheme"),
        pytest.param({"meta": {"version": "v2.4.0", "scheme": "HTTPS"}}, "Meta.scheme", id="in-capitals"),
    ],
)
def test_what_cannot_be_read_is_a_fault_of_that_entry_alone(changed: dict[str, Any], fault: str) -> None:
    odd, good = read(entry(**changed), entry(ID="bert-2"))

    assert fault in odd.fault
    assert odd.address is None or odd.version is None  # so nothing dials it
    assert good.fault == ""


@pytest.mark.parametrize(
    ("checks", "state", "weight"),
    [
        pytest.param([], CheckState.PASSING, 10, id="none-but-the-nodes"),
        pytest.param([check("passing"), check("warning", "x")], CheckState.WARNING, 2, id="warning"),
        pytest.param([check("warning"), check("critical", "x")], CheckState.CRITICAL, 10, id="the-worst-counts"),
        pytest.param([check("critical", "serfHealth")], CheckState.CRITICAL, 10, id="the-node-is-lost"),
        pytest.param([check("unheard-of")], CheckState.CRITICAL, 10, id="a-new-word"),
        pytest.param([check("critical", "_service_maintenance:bert-1")], CheckState.PASSING, 10, id="maintenance"),
    ],
)
def test_check_states_and_weights(checks: list[dict[str, Any]], state: CheckState, weight: float) -> None:
    (one,) = read(entry(*checks))

    assert (one.check, one.weight) == (state, weight)


@pytest.mark.parametrize(
    ("checks", "maintenance"),
    [
        pytest.param([check("critical", "_service_maintenance:bert-1", "disk")], "disk", id="of-the-service"),
        pytest.param([check("critical", "_node_maintenance", "new kernel")], "new kernel", id="of-the-node"),
        pytest.param(
            [
                check(
                    "critical",
                    "_node_maintenance",
                    "Maintenance mode is enabled for this node, but no reason was provided. This is a default message.",
                )
            ],
            "",
            id="without-a-reason",
        ),
        pytest.param([check("critical", "_service_maintenance:bert-2", "x")], None, id="of-another-service"),
        pytest.param([check("critical")], None, id="a-critical-check-is-none"),
    ],
)
def test_maintenance(checks: list[dict[str, Any]], maintenance: str | None) -> None:
    (one,) = read(entry(*checks))

    assert one.maintenance == maintenance


def test_without_weights_every_instance_weighs_one() -> None:
    without = entry()
    del without["Service"]["Weights"]
    (one,) = read(without)

    assert one.weight == 1.0


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(json.dumps([entry()]).encode()[:-20], id="cut"),
        pytest.param(b"<html>busy</html>", id="a-page-of-a-proxy"),
        pytest.param(b'{"error": "x"}', id="an-object"),
        pytest.param(b'[{"Node": {"Node": "n"}}]', id="no-service"),
        pytest.param(b'[{"Node": {"Node": "n"}, "Service": {"ID": "x", "Port": "80"}}]', id="a-port-of-text"),
        pytest.param(b"[\xff]", id="not-utf-8"),
    ],
)
def test_w11_a_reply_that_is_no_list_of_instances_is_refused_whole(body: bytes) -> None:
    with pytest.raises(ConsulFailed, match="no list of instances") as caught:
        read_registrations(body)

    assert caught.value.kind is FailureKind.MALFORMED
