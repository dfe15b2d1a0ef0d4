"""Commands that ask a running gateway, against the real admin application on a real port."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator

import pytest
import uvicorn

from gateway.admin.app import AdminParts, admin_app
from gateway.cli.ask import admin_url
from gateway.cli.main import main
from gateway.control.assemble import assemble
from gateway.control.watcher import SourceState
from tests.support.control import Story, contract, reading, route, stated

A, B = "http://10.0.0.1:8000", "http://10.0.0.2:8000"


class Running:
    """A gateway's admin port in a thread: one instance verified, one ejected, three documents waiting for removal."""

    def __init__(self) -> None:
        self.story = Story()
        texts = {
            "contracts/m/v1.0.0": contract("v1.0.0", A, B),
            "contracts/m/v2.0.0": contract("v2.0.0", accepts="c"),
            "contracts/m/v3.0.0": contract("v3.0.0", accepts=""),
            "routes/m": route(default="^1.0", canary_rules=[{"version": "v2.0.0", "traffic_percentage": 100}]),
        }
        self.documents = assemble(self.story.documents, reading(texts))
        self.story.put(self.documents)
        self.story.probe(A)
        self.story.probe(B, stated("b"))
        self.source = SourceState("files", "file:somewhere", True, ("a problem",), 1000.0, 1_700_000_000.0)
        self.draining = False
        self.pruned = 0

    async def prune(self) -> tuple[str, ...]:
        self.pruned += 1
        return ("contracts/m/v2.0.0",)

    def lose_documents(self) -> None:
        """Let most of them vanish."""
        texts = {"contracts/m/v1.0.0": contract("v1.0.0", A, B)}
        gone = self.documents.entries.keys() - texts.keys()
        self.story.put(assemble(self.documents, reading(texts, gone=set(gone))))

    def serve(self, started: threading.Event) -> None:
        parts = AdminParts(
            gateway="gw-1",
            program="1.2.3",
            compiled=False,
            fleet=self.story.fleet,
            source=lambda: self.source,
            prune=self.prune,
            registry=self.story.registry,
            in_flight=lambda instance: 0,
            draining=lambda: self.draining,
            now=self.story.clock,
            wall=lambda: 1_700_000_100.0,
            draw=lambda: 0.5,
            started=1_700_000_000.0,
        )
        config = uvicorn.Config(admin_app(parts), port=0, log_config=None, lifespan="off", ws="none")
        self.server = uvicorn.Server(config)
        asyncio.run(self._serve(started))

    async def _serve(self, started: threading.Event) -> None:
        config = self.server.config
        config.load()
        self.server.lifespan = config.lifespan_class(config)
        await self.server.startup()
        self.url = f"http://127.0.0.1:{self.server.servers[0].sockets[0].getsockname()[1]}"
        started.set()
        await self.server.main_loop()
        await self.server.shutdown()


@pytest.fixture
def gateway() -> Iterator[Running]:
    running, started = Running(), threading.Event()
    thread = threading.Thread(target=running.serve, args=(started,))
    thread.start()
    assert started.wait(10)
    yield running
    running.server.should_exit = True
    thread.join(10)


def dna(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(arguments)
    out, err = capsys.readouterr()
    return code, out, err


def test_status_as_a_table_with_what_is_amiss_first(gateway: Running, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = dna(capsys, "status", "--admin", gateway.url)
    lines = out.splitlines()

    assert (code, err) == (0, "")
    assert lines[0] == "gateway gw-1 1.2.3: ready, generation 1, documents 4 ok, up 100 s"
    assert lines[1] == "source: a problem"
    assert lines[3].split()[:5] == ["10.0.0.2:8000", "m", "v1.0.0", "ejected", "up"]
    assert lines[3].endswith("ejected: digest differs")
    assert lines[4].split()[:5] == ["10.0.0.1:8000", "m", "v1.0.0", "verified", "up"]
    assert "nothing is accepted, so this version serves nothing" in out


def test_status_as_json_is_the_admin_ports(gateway: Running, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = dna(capsys, "status", "--admin", gateway.url + "/", "-o", "json")

    assert code == 0
    assert json.loads(out)["gateway"] == "gw-1"


def test_explain_tells_version_instance_and_reasons(gateway: Running, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = dna(capsys, "explain", "m", "--selector", "^1.0", "--admin", gateway.url)

    assert code == 0
    assert out.startswith("m v1.0.0 on 10.0.0.1:8000, because range (asked: ^1.0), generation 1\n")
    assert "ejected: digest differs" in out


def test_explain_tells_of_the_canary(gateway: Running, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = dna(capsys, "explain", "m", "--sticky", "user-1", "--admin", gateway.url)

    assert code == 0
    assert "owned by v2.0.0; it has no instance, so its share goes to the default" in out


def test_explain_tells_why_nothing_answers(gateway: Running, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = dna(capsys, "explain", "nope", "--admin", gateway.url)

    assert code == 0
    assert out.startswith("404 model_not_found: ")
    assert "available: m" in out


def test_explain_as_json(gateway: Running, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = dna(capsys, "explain", "m", "--dna-prefix", "aaaa", "--admin", gateway.url, "-o", "json")

    assert json.loads(out)["reason"] == "dna"


def test_health_is_0_when_ready_and_1_when_not(gateway: Running, capsys: pytest.CaptureFixture[str]) -> None:
    ready = dna(capsys, "health", "--admin", gateway.url)
    gateway.draining = True
    draining = dna(capsys, "health", "--admin", gateway.url)

    assert ready == (0, "ready, generation 1\n", "")
    assert draining == (1, "", "dna: not ready: draining\n")


def test_prune_asks_first_and_then_removes(gateway: Running, capsys: pytest.CaptureFixture[str]) -> None:
    nothing = dna(capsys, "contract", "prune", "--admin", gateway.url)
    gateway.lose_documents()
    asked = dna(capsys, "contract", "prune", "--admin", gateway.url)
    assert gateway.pruned == 0
    confirmed = dna(capsys, "contract", "prune", "--confirm", "--admin", gateway.url)

    assert nothing == (0, "nothing is missing\n", "")
    assert asked[0] == 2
    assert "contracts/m/v2.0.0" in asked[2]
    assert confirmed == (0, "contracts/m/v2.0.0\n", "removed 1, generation 1\n")
    assert gateway.pruned == 1


def test_the_settings_say_where_the_admin_port_is(
    gateway: Running, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GATEWAY_HOST", "0.0.0.0")
    monkeypatch.setenv("GATEWAY_ADMIN_PORT", gateway.url.rpartition(":")[2])

    assert dna(capsys, "health")[0] == 0


@pytest.mark.parametrize(
    ("url", "says"),
    [
        pytest.param("http://127.0.0.1:1", "Connection refused", id="nothing-there"),
        pytest.param("nonsense", "no answer from http://nonsense/status", id="no-such-host"),
    ],
)
def test_a_gateway_that_does_not_answer_is_1(capsys: pytest.CaptureFixture[str], url: str, says: str) -> None:
    code, out, err = dna(capsys, "status", "--admin", url)

    assert (code, out) == (1, "")
    assert says in err
    assert "--admin URL" in err


def test_something_else_on_that_port_is_1(gateway: Running, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = dna(capsys, "status", "--admin", gateway.url + "/elsewhere")

    assert code == 1
    assert "answered 404" in err


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:8081"),
        ("::", "http://127.0.0.1:8081"),
        ("::1", "http://[::1]:8081"),
        ("gateway.example", "http://gateway.example:8081"),
    ],
)
def test_where_the_admin_port_is_reached(monkeypatch: pytest.MonkeyPatch, host: str, url: str) -> None:
    monkeypatch.setenv("GATEWAY_HOST", host)

    assert admin_url(None) == url


@pytest.mark.parametrize("given", ["10.0.0.7:8081", "http://10.0.0.7:8081", "http://10.0.0.7:8081/"])
def test_the_admin_port_may_be_named_without_a_scheme(given: str) -> None:
    assert admin_url(given) == "http://10.0.0.7:8081"


def test_settings_that_cannot_be_used_are_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GATEWAY_PORT", "http")
    code, _, err = dna(capsys, "health")

    assert code == 1
    assert "GATEWAY_PORT" in err
    assert "--admin URL" in err
