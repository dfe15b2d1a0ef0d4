"""The stamps of an answer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from contracts.version import Version
from gateway.proxy.identity import Stated
from gateway.proxy.stamps import StampKey, http_date, lifecycle_stamps, refusal_stamps, route_stamps, worker_stamps
from gateway.routing.decision import Resolution
from gateway.routing.resolve import resolve
from tests.support.fleets import asking, contract_document, fleet

HASH = "ab" * 32
DNA = "a1b2c3d49f8e7d6c"


def lines(stamps: bytes) -> list[str]:
    assert stamps.endswith(b"\r\n") or not stamps
    return stamps.decode("ascii").split("\r\n")[:-1]


def test_a_routed_request() -> None:
    route = resolve(fleet("v1.2.0", "v1.4.0"), asking("^1.2"))
    assert isinstance(route, Resolution)

    known: dict[StampKey, bytes] = {}
    for attempts, request_id in ((2, "r-1"), (1, "r-2")):
        assert lines(route_stamps(route, known, attempts=attempts, request_id=request_id)) == [
            "x-model-id: bert-base-chinese",
            "x-model-version: v1.4.0",
            "x-model-requested: ^1.2",
            "x-route-reason: range",
            "x-config-generation: 7",
            f"x-route-attempts: {attempts}",
            f"x-request-id: {request_id}",
        ]
    assert list(known) == [("^1.2", "range", 7)]


def test_what_is_remembered_for_selectors_is_bounded() -> None:
    route = resolve(fleet("v1.2.0"), asking("^1.2"))
    assert isinstance(route, Resolution)
    known: dict[StampKey, bytes] = {}
    for number in range(1000):
        route_stamps(replace(route, requested=f"^1.2.{number}"), known, attempts=1, request_id="r")

    assert len(known) <= 256


def test_an_answer_of_ours_says_what_is_known_and_names_no_dna() -> None:
    assert lines(refusal_stamps(requested="default", generation=3, attempts=0, request_id="r")) == [
        "x-model-requested: default",
        "x-route-attempts: 0",
        "x-config-generation: 3",
        "x-request-id: r",
    ]
    assert lines(
        refusal_stamps(
            requested="^1", generation=3, attempts=1, request_id="r", model_id="m",
            version=Version.parse("1.2.3"), reason="range",
        )
    )[4:] == ["x-model-id: m", "x-model-version: v1.2.3", "x-route-reason: range"]  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "written"),
    [
        ("^1.2", "^1.2"),
        ("a b", "a b"),
        ("a\r\nx-evil: 1", "a%0D%0Ax-evil: 1"),
        ("模", "%E6%A8%A1"),
        ("\x00", "%00"),
        ("50%", "50%"),
    ],
)
def test_what_a_client_asked_cannot_break_out_of_its_line(asked: str, written: str) -> None:
    stamps = refusal_stamps(requested=asked, generation=1, attempts=0, request_id="r", model_id=asked)

    assert lines(stamps)[0] == f"x-model-requested: {written}"
    assert lines(stamps)[4] == f"x-model-id: {written}"
    assert len(lines(stamps)) == 5


@pytest.mark.parametrize(
    ("stated", "assurance", "written"),
    [
        pytest.param({}, None, [], id="nothing"),
        pytest.param({"dna": DNA}, "label", [f"x-inference-dna: {DNA}", "x-inference-assurance: label"], id="dna"),
        pytest.param({"digest": f"sha256:{HASH}"}, None, [f"x-inference-digest: sha256:{HASH}"], id="digest"),
        pytest.param({"input_hash": HASH}, None, ["x-inference-input-hash: abababababab"], id="hash-is-shortened"),
        pytest.param({"input_hash": ""}, None, [], id="empty-hash"),
        pytest.param({"dna": "a\r\nb", "digest": "x y", "input_hash": "\x00"}, None, [], id="malformed-is-dropped"),
        pytest.param({"dna": "é"}, None, [], id="not-ascii-is-dropped"),
    ],
)  # fmt: skip
def test_what_a_worker_stated(stated: dict[str, Any], assurance: str | None, written: list[str]) -> None:
    assert lines(worker_stamps(Stated(**stated), assurance)) == written


@pytest.mark.parametrize(
    ("fields", "written"),
    [
        pytest.param({}, [], id="none"),
        pytest.param({"successor": "v2.0.0"}, [], id="a-successor-alone-says-nothing"),
        pytest.param({"deprecated_at": "2026-09-21T14:13:20Z"}, ["deprecation: @1790000000"], id="deprecation"),
        pytest.param({"sunset_at": "2027-03-31T00:00:00Z"}, ["sunset: Wed, 31 Mar 2027 00:00:00 GMT"], id="sunset"),
        pytest.param(
            {"sunset_at": "2027-03-31T02:00:00+02:00", "successor": "v2.0.0"},
            [
                "sunset: Wed, 31 Mar 2027 00:00:00 GMT",
                'link: </v1/models/org%2Fm@v2.0.0>; rel="successor-version"',
            ],
            id="sunset-in-another-zone-and-successor",
        ),
    ],
)
def test_a_version_on_its_way_out(fields: dict[str, Any], written: list[str]) -> None:
    contract = contract_document("v1.0.0", model_id="org/m", **fields)

    assert lines(lifecycle_stamps(contract)) == written


def test_dates() -> None:
    assert http_date(784111777.0) == b"Sun, 06 Nov 1994 08:49:37 GMT"
