from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.peers import envoy, gateway, haproxy, nginx
from bench.peers.catalogue import PEERS, UnknownPeer, chosen
from bench.peers.peer import Site, word_after
from bench.upstream.nginx import upstream_config
from contracts.contract import parse_contract
from contracts.key import DocumentKey
from contracts.route import parse_route

UPSTREAMS = ("http://127.0.0.1:9001", "http://127.0.0.1:9002")


@pytest.mark.parametrize(
    ("prefix", "text", "expected"),
    [
        ("nginx/", "nginx version: nginx/1.22.1\n", "1.22.1"),
        ("HAProxy version ", "HAProxy version 2.6.12-1+deb12u4 2026/10/17", "2.6.12"),
        ("dna ", "something else", "unknown"),
    ],
)
def test_a_version_is_the_word_behind_its_name(prefix: str, text: str, expected: str) -> None:
    assert word_after(prefix, text) == expected


def test_names_choose_in_the_order_of_the_tables() -> None:
    assert [peer.name for peer in chosen(["envoy", "nginx"])] == ["nginx", "envoy"]
    assert chosen([]) == list(PEERS)
    with pytest.raises(UnknownPeer, match=r"'traefik'.*haproxy"):
        chosen(["traefik"])


def test_every_configuration_names_its_port_and_both_upstreams(tmp_path: Path) -> None:
    site = Site(tmp_path, 8001, 8002, UPSTREAMS)
    texts = [nginx.proxy_config(site), haproxy.proxy_config(site), json.dumps(envoy.proxy_config(site))]

    for text in texts:
        assert all(port in text for port in ("8001", "9001", "9002"))
        assert "8002" not in text


def test_our_documents_are_accepted_by_our_own_door(tmp_path: Path) -> None:
    gateway.write_contract(tmp_path, "bench", UPSTREAMS)
    contract = (tmp_path / "contracts/bench/v2.4.0.json").read_bytes()
    route = (tmp_path / "routes/bench.json").read_bytes()

    key = DocumentKey("contract", "bench", parse_contract(contract).version)
    assert parse_contract(contract, key=key).instances == UPSTREAMS
    assert parse_route(route).model_id == "bench"


def test_the_upstream_speaks_for_every_worker_of_a_fleet(tmp_path: Path) -> None:
    text = upstream_config([9001], tmp_path)

    assert 'add_header X-Model-Id "bench-$1";' in text
    assert str(tmp_path) in text
    assert "'" not in text.partition("return 200 '")[2].partition("';")[0]
