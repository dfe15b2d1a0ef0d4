"""The admin port, asked in process: nothing here streams."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from gateway.admin.app import AdminParts, admin_app
from gateway.control.assemble import assemble
from gateway.control.watcher import NothingReadable, SourceState
from gateway.sources.consul.rights import Rights
from tests.support.control import MODEL, Story, contract, documents_of, reading, route, stated
from tests.support.registrations import SERVICE, listing, registration

A, B, C = (f"http://10.0.0.{n}:8000" for n in (1, 2, 3))
GOOD = SourceState("files", "file:somewhere", True, (), 1000.0, 1_700_000_000.0)


class Port:
    """The admin port over a story."""

    def __init__(self) -> None:
        self.story = Story()
        self.source = GOOD
        self.draining = False
        self.dead: tuple[str, ...] = ()
        self.prunes: list[tuple[str, ...] | NothingReadable] = []

    async def _prune(self) -> tuple[str, ...]:
        answer = self.prunes.pop()
        if isinstance(answer, NothingReadable):
            raise answer
        return answer

    def ask(self, path: str, *, method: str = "GET", **more: Any) -> httpx.Response:
        parts = AdminParts(
            gateway="gw-1",
            program="1.2.3",
            compiled=False,
            fleet=self.story.fleet,
            source=lambda: self.source,
            prune=self._prune,
            registry=self.story.registry,
            in_flight=lambda instance: 7 if instance.url == A else 0,
            draining=lambda: self.draining,
            now=self.story.clock,
            wall=lambda: 1_700_000_100.0,
            draw=lambda: 0.5,
            started=1_700_000_000.0,
            rights=lambda: Rights("accessor-1", ("gateway",)),
            dead_loops=lambda: self.dead,
        )

        async def once() -> httpx.Response:
            transport = httpx.ASGITransport(admin_app(parts))
            async with httpx.AsyncClient(transport=transport, base_url="http://admin") as client:
                return await client.request(method, path, **more)

        return asyncio.run(once())


@pytest.fixture
def port() -> Port:
    """Three instances of v1.0.0: verified, ejected, never probed; and a retired version."""
    made = Port()
    made.story.apply(
        contract("v1.0.0", A, B, C),
        contract("v0.9.0", A, status="retired", successor="v1.0.0"),
        route(default="^1.0", aliases={"stable": "v1.0.0"}),
    )
    made.story.probe(A, stated(hardware={"accelerators": [{"name": "NVIDIA A100"}]}))
    made.story.probe(B, stated("b"))
    return made


def test_the_process_lives(port: Port) -> None:
    answer = port.ask("/livez")

    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


def test_w22_a_dead_loop_fails_the_health_of_the_process_and_no_readiness(port: Port) -> None:
    port.dead = ("watcher",)

    assert port.ask("/livez").status_code == 503
    assert "watcher" in port.ask("/livez").json()["reason"]
    assert port.ask("/readyz").status_code == 200


def test_whose_token_reads_consul_is_named(port: Port) -> None:
    assert port.ask("/status").json()["rights"] == {"accessor": "accessor-1", "policies": ["gateway"], "problem": ""}


def test_it_is_ready_with_one_good_read(port: Port) -> None:
    answer = port.ask("/readyz")

    assert (answer.status_code, answer.json()) == (200, {"ready": True, "reason": "", "generation": 1})
    assert answer.headers["cache-control"] == "no-store"


def test_it_is_not_ready_before_a_good_read_nor_while_draining(port: Port) -> None:
    port.source = SourceState("files", "file:somewhere", False, ("the folder is away",), 1000.0, None)
    before = port.ask("/readyz")
    port.source, port.draining = GOOD, True
    draining = port.ask("/readyz")

    assert (before.status_code, before.json()["reason"]) == (
        503,
        "no good read of file:somewhere yet: the folder is away",
    )
    assert (draining.status_code, draining.json()["reason"]) == (503, "draining")


def test_it_stays_ready_while_the_source_is_away(port: Port) -> None:
    port.source = SourceState("files", "file:somewhere", False, ("away",), 1000.0, 1_700_000_000.0)

    assert port.ask("/readyz").status_code == 200


def test_the_status_names_the_gateway_and_puts_what_is_amiss_first(port: Port) -> None:
    port.story.clock.pass_(3)
    status = port.ask("/status").json()

    assert (status["gateway"], status["program"], status["generation"], status["uptime_seconds"]) == (
        "gw-1",
        "1.2.3",
        1,
        100.0,
    )
    assert [one["id"] for one in status["instances"]] == ["10.0.0.2:8000", "10.0.0.3:8000", "10.0.0.1:8000"]
    ejected, new, good = status["instances"]
    assert (ejected["identity"], ejected["reason"], ejected["ready"]) == ("ejected", "ejected: digest differs", False)
    assert ejected["digest"] == "sha256:" + "b" * 64
    assert (new["identity"], new["last_probe"]) == ("unverified", None)
    assert (good["identity"], good["liveness"], good["ready"], good["reason"]) == ("verified", "up", True, "")
    assert (good["gpu"], good["assurance"], good["in_flight"]) == ("NVIDIA A100", "full-hash", 7)
    assert good["last_probe"]["outcome"] == "ok"
    assert good["last_probe"]["seconds_ago"] == pytest.approx(3.01)
    assert good["last_probe"]["http_status"] == 200
    assert status["instances_by_identity"]["ejected"] == 1


def test_the_status_shows_a_rejected_document_with_what_serves_of_it(port: Port) -> None:
    good = contract("v1.0.0", A, B, C)
    before = documents_of(good)
    port.story.put(before)
    port.story.put(assemble(before, reading({"contracts/m/v1.0.0": "{"})))
    (entry,) = port.ask("/status").json()["documents"]

    assert (entry["key"], entry["kind"], entry["state"]) == ("contracts/m/v1.0.0", "contract", "rejected")
    assert entry["faults"][0]["message"]
    assert entry["in_force"]["generation"] == 1
    assert len(entry["in_force"]["sha"]) == 12


@pytest.mark.parametrize(
    ("fields", "note"),
    [
        pytest.param({"enforcement": "observe"}, "identity is only watched", id="observe"),
        pytest.param({}, "", id="nothing-to-say"),
    ],
)
def test_the_status_says_what_an_operator_should_know(fields: dict[str, Any], note: str) -> None:
    port = Port()
    port.story.apply(contract("v1.0.0", A, **fields))
    (entry,) = port.ask("/status").json()["documents"]

    assert note in entry["note"]
    assert bool(entry["note"]) is bool(note)


def test_a_contract_without_instances_says_so() -> None:
    port = Port()
    port.story.apply(contract("v1.0.0"))

    assert port.ask("/status").json()["documents"][0]["note"] == "has no instances, so it serves nothing"


def test_models_with_their_versions_and_routes(port: Port) -> None:
    answer = port.ask("/models").json()
    (model,) = answer["models"]

    assert (model["model_id"], model["default"], model["aliases"]) == (MODEL, "^1.0", {"stable": "v1.0.0"})
    assert [(one["version"], one["status"], one["instances"], one["ready"]) for one in model["versions"]] == [
        ("v1.0.0", "active", 3, 1),
        ("v0.9.0", "retired", 0, 0),
    ]
    assert model["versions"][1]["successor"] == "v1.0.0"


def test_explain_decides_as_a_request_would_be_decided(port: Port) -> None:
    told = port.ask("/explain", params={"model": "m", "preference": "^1.0", "sticky": "user-1"}).json()

    assert (told["version"], told["instance"], told["reason"], told["sticky_given"]) == (
        "v1.0.0",
        "10.0.0.1:8000",
        "range",
        True,
    )
    reasons = {one["instance"]: one["reason"] for one in told["candidates"]}
    assert reasons["10.0.0.2:8000"] == "ejected: digest differs"
    assert "status" not in told


@pytest.mark.parametrize(
    ("query", "status", "code"),
    [
        ({"model": "nope"}, 404, "model_not_found"),
        ({"model": "m", "preference": "v9.9.9"}, 404, "version_not_found"),
        ({"model": "m", "preference": "v0.9.0"}, 410, "version_retired"),
        ({"model": "m", "preference": "1.2.3.4"}, 400, "selector_invalid"),
        ({"model": "m", "dna_prefix": "xyz"}, 400, "dna_prefix_invalid"),
        ({"model": "m", "dna_prefix": "bbbb"}, 503, "no_verified_instance"),
    ],
)
def test_explain_says_why_nothing_would_answer(port: Port, query: dict[str, str], status: int, code: str) -> None:
    answer = port.ask("/explain", params=query)

    assert answer.status_code == 200
    assert (answer.json()["status"], answer.json()["code"]) == (status, code)
    assert answer.json()["instance"] is None


def test_metrics_in_the_form_asked_for(port: Port) -> None:
    plain = port.ask("/metrics")
    open_metrics = port.ask("/metrics", headers={"accept": "application/openmetrics-text; version=1.0.0"})

    assert plain.headers["content-type"].startswith("text/plain")
    assert "gateway_build_info{python=" in plain.text.replace('{version="test",', "{")
    assert open_metrics.text.endswith("# EOF\n")


def test_the_operator_confirms_removals(port: Port) -> None:
    port.prunes.append(("contracts/m/v1.0.0",))
    answer = port.ask("/documents/prune", method="POST", json={"confirm": True})

    assert (answer.status_code, answer.json()) == (200, {"removed": ["contracts/m/v1.0.0"], "generation": 1})


@pytest.mark.parametrize(
    ("more", "status", "code"),
    [
        pytest.param({"json": {"confirm": False}}, 400, "bad_request", id="not-confirmed"),
        pytest.param({"json": {}}, 422, "input_invalid", id="nothing-said"),
        pytest.param({"json": {"confirm": True, "force": True}}, 422, "input_invalid", id="something-else-said"),
        pytest.param({"content": b'{"confirm": true}'}, 422, "input_invalid", id="as-a-browser-form-could"),
    ],
)
def test_nothing_is_removed_by_accident(port: Port, more: dict[str, Any], status: int, code: str) -> None:
    answer = port.ask("/documents/prune", method="POST", **more)

    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert answer.headers["content-type"] == "application/problem+json"


def test_removals_cannot_be_confirmed_while_the_source_is_away(port: Port) -> None:
    port.prunes.append(NothingReadable("file:somewhere cannot be read now, so nothing was removed"))
    answer = port.ask("/documents/prune", method="POST", json={"confirm": True})

    assert (answer.status_code, answer.json()["code"]) == (409, "conflict")
    assert "cannot be read now" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [("GET", "/nowhere", 404, "path_not_found"), ("DELETE", "/status", 405, "method_not_allowed")],
)
def test_errors_are_problems(port: Port, method: str, path: str, status: int, code: str) -> None:
    answer = port.ask(path, method=method)

    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert answer.json()["type"] == f"urn:inference-gateway:{code}"


def test_the_documentation_needs_nobody_elses_server(port: Port) -> None:
    openapi = port.ask("/openapi.json").json()
    page = port.ask("/docs")

    assert {"/livez", "/readyz", "/metrics", "/status", "/models", "/explain", "/documents/prune"} == set(
        openapi["paths"]
    )
    assert page.headers["content-type"].startswith("text/html")
    assert all(path in page.text for path in openapi["paths"])
    assert "<script" not in page.text
    assert "http" not in page.text.replace("http-equiv", "")
    assert port.ask("/").headers["location"] == "docs"


def test_an_empty_gateway_has_a_status_too() -> None:
    port = Port()
    port.source = SourceState("files", "file:somewhere")

    assert port.ask("/status").json()["documents"] == []
    assert port.ask("/models").json() == {"generation": 0, "models": []}


def test_the_status_shows_what_the_catalogue_lists_and_what_is_odd_about_it() -> None:
    port = Port()
    port.story.apply(contract(service=SERVICE))
    (unread,) = port.ask("/status").json()["documents"]
    port.story.enlist(
        registration("a", weight=3.0, maintenance="disk", dna="a1b2c3d4", node="gpu7"),
        registration("x", "10.0.0.2:8000", "v9.0.0"),
    )
    port.story.clock.pass_(2)
    status = port.ask("/status").json()
    (one,), (service,) = status["instances"], status["services"]

    assert unread["note"] == "the list of service bert was not read yet; only --source consul:// reads one"
    assert status["documents"][0]["note"] == ""
    assert (one["weight"], one["registration"], one["registered_dna"]) == (3.0, "gpu7/a", "a1b2c3d4")
    assert one["draining"] == "by an operator's wish: disk"
    assert {name: service[name] for name in ("service", "ok", "problem", "registrations", "kept")} == {
        "service": SERVICE,
        "ok": True,
        "problem": "",
        "registrations": 2,
        "kept": 0,
    }
    assert service["last_read_seconds_ago"] == 2.0
    (fault,) = service["faults"]
    assert (fault["registration"], fault["address"], fault["oddity"]) == ("n1/x", "10.0.0.2:8000", "no_contract")


def test_services_with_something_amiss_come_first() -> None:
    port = Port()
    port.story.apply(contract(service=SERVICE), contract("v2.0.0", service="gpt"))
    odd = listing(registration("x", "10.0.0.2:8000", "v9.0.0"), service="gpt")
    port.story.show({SERVICE: listing(registration("a")), "gpt": odd})

    assert [one["service"] for one in port.ask("/status").json()["services"]] == ["gpt", SERVICE]
