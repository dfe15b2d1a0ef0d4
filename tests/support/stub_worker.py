"""A scripted worker on a real socket: answers with a stated identity, records the raw bytes it got, misbehaves on cue.

In a test: `with StubWorker(version="v2.4.0") as worker: ...` (its own thread and loop). As a process that can be
killed: `python -m tests.support.stub_worker --port 9001 --version v2.4.0 --seed a`.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import socket
import ssl
import struct
import threading
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Self

from inference_dna.digest import hashed
from inference_dna.genome import GenomeDigests

MODEL = "m"


def digests_of(seed: str) -> GenomeDigests:
    """Make the digests of a runtime that does not exist; another seed is another runtime in every section."""
    parts = {
        name: hashed("test/" + name, seed) for name in ("weights", "tokenizer", "postprocess", "framework", "hardware")
    }
    return GenomeDigests(
        **parts,
        stack=hashed("test/stack", seed),
        artifact=hashed("test/artifact", seed),
        runtime=hashed("test/runtime", seed),
    )


@dataclass
class Seen:
    """One request as the worker got it."""

    raw_head: bytes
    body: bytes
    aborted: bool = False

    @property
    def line(self) -> bytes:
        return self.raw_head.split(b"\r\n", 1)[0]

    @property
    def path(self) -> bytes:
        return self.line.split(b" ")[1]

    def header(self, name: str) -> bytes | None:
        for line in self.raw_head.split(b"\r\n")[1:]:
            key, _, value = line.partition(b":")
            if key.strip().lower() == name.lower().encode():
                return value.strip()
        return None


Handler = Callable[["Turn"], Awaitable[None]]


@dataclass
class Turn:
    """A handler's view of one request."""

    worker: StubWorker
    seen: Seen
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    close: bool = False

    async def write(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    def reset(self) -> None:
        sock = self.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()
        self.close = True

    async def client_gone(self) -> None:
        """Wait until the gateway closes this connection."""
        with contextlib.suppress(ConnectionError):
            while await self.reader.read(65536):
                pass
        self.seen.aborted = True
        self.close = True


async def answer_json(turn: Turn) -> None:
    """The default: 200, chunked JSON that says which worker answered."""
    worker = turn.worker
    if worker.delay_s:
        await asyncio.sleep(worker.delay_s)
    body = json.dumps(
        {
            "version": worker.version,
            "worker": worker.name,
            "path": turn.seen.path.decode("latin-1"),
            "seed": worker.seed,
        }
    ).encode()
    await turn.write(worker.head(200, "application/json") + b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body))


@dataclass
class StubWorker:
    """One scripted worker. Change `seed`, `version`, `status` or `handler` at any time."""

    version: str = "v1.0.0"
    model_id: str = MODEL
    seed: str = "a"
    name: str = "w"
    port: int = 0
    host: str = "127.0.0.1"
    status: str = "ok"
    delay_s: float = 0.0
    stamped: bool = True
    send_digest: bool = True
    extra_headers: list[str] = field(default_factory=list)
    hardware: dict[str, Any] | None = None
    handler: Handler = answer_json
    healthz: Handler | None = None
    seen: list[Seen] = field(default_factory=list)
    probes: int = 0
    connections: int = 0
    raw: bytearray = field(default_factory=bytearray)
    boot_id: str = "00" * 16
    tls: ssl.SSLContext | None = None

    @property
    def digests(self) -> GenomeDigests:
        return digests_of(self.seed)

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'http' if self.tls is None else 'https'}://{host}:{self.port}"

    def accepted(self) -> dict[str, str]:
        """What a contract writes to accept this worker."""
        return {"dna": self.digests.dna(), "digest": f"sha256:{self.digests.runtime}", "label": self.seed}

    def identity_lines(self, input_hash: str = "") -> list[str]:
        lines = [f"X-Inference-DNA: {self.digests.dna(input_hash)}"]
        if self.send_digest:
            lines.append(f"X-Inference-Digest: sha256:{self.digests.runtime}")
        lines += [
            f"X-Model-Id: {self.model_id}",
            f"X-Model-Version: {self.version}",
            "X-Inference-Assurance: full-hash",
        ]
        return lines

    def head(self, status: int, content_type: str, *, framing: str = "Transfer-Encoding: chunked") -> bytes:
        lines = [f"HTTP/1.1 {status} X", f"Content-Type: {content_type}", framing]
        lines += self.identity_lines() if self.stamped else []
        lines += self.extra_headers
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")

    def health_document(self) -> dict[str, Any]:
        return {
            "status": self.status,
            "dna": self.digests.dna(),
            "digest": f"sha256:{self.digests.runtime}",
            "model_id": self.model_id,
            "version": self.version,
            "model_fingerprint": f"sha256:{self.digests.weights}",
            "tokenizer_fingerprint": f"sha256:{self.digests.tokenizer}",
            "postprocess_fingerprint": f"sha256:{self.digests.postprocess}",
            "hardware": self.hardware or {"accelerators": [], "cpu": {"arch": "x86_64", "isa": ["avx2"]}},
            "framework": {"engine": {"name": "stub", "version": "1"}},
            "boot_id": self.boot_id,
            "uptime_seconds": 1,
            "format": "inference-dna/1",
            "assurance": "full-hash",
        }

    async def _answer_healthz(self, turn: Turn) -> None:
        self.probes += 1
        if self.healthz is not None:
            await self.healthz(turn)
            return
        body = json.dumps(self.health_document()).encode()
        status = 200 if self.status == "ok" else 503
        await turn.write(self.head(status, "application/json", framing=f"Content-Length: {len(body)}") + body)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while (turn := await self._read(reader, writer)) is not None:
                probe = turn.seen.path.split(b"?")[0] == b"/healthz"
                if not probe:
                    self.seen.append(turn.seen)
                await (self._answer_healthz(turn) if probe else self.handler(turn))
                if turn.close:
                    break
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _read(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Turn | None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            return None
        seen = Seen(head, b"")
        if not seen.path.startswith(b"/healthz"):
            self.raw += head
        length = int(seen.header("content-length") or 0)
        seen.body = await reader.readexactly(length) if length else b""
        return Turn(self, seen, reader, writer)

    # running ------------------------------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        started = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, args=(started,), daemon=True)
        self._thread.start()
        if not started.wait(10):
            raise RuntimeError("the stub worker did not start")
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Stop listening and close every connection, as a process that dies does."""
        if self._loop.is_running():
            self._loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join(10)

    def _run(self, started: threading.Event) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._main(started))
        self._loop.close()

    async def _main(self, started: threading.Event) -> None:
        self._stopped = asyncio.Event()
        tasks: set[asyncio.Task[None]] = set()

        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            tasks.add(task)
            task.add_done_callback(tasks.discard)
            with contextlib.suppress(asyncio.CancelledError):
                await self.serve(reader, writer)

        server = await asyncio.start_server(
            connected, self.host, self.port, reuse_address=True, backlog=1024, ssl=self.tls
        )
        self.port = server.sockets[0].getsockname()[1]
        started.set()
        await self._stopped.wait()
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def contract_for(*workers: StubWorker, **more: Any) -> dict[str, Any]:
    """Write the contract that these workers fulfil; members in `more` are added or replace."""
    first = workers[0]
    accepted = {worker.seed: worker.accepted() for worker in workers}
    return {
        "model_id": first.model_id,
        "version": first.version,
        "contract": {},
        "dna": list(accepted.values()),
        "instances": [worker.url for worker in workers],
    } | more


@contextlib.contextmanager
def workers(*made: StubWorker) -> Iterator[tuple[StubWorker, ...]]:
    """Run several workers."""
    with contextlib.ExitStack() as stack:
        yield tuple(stack.enter_context(worker) for worker in made)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--version", default="v1.0.0")
    parser.add_argument("--model-id", default=MODEL)
    parser.add_argument("--seed", default="a")
    parser.add_argument("--name", default="w")
    parser.add_argument("--delay-s", type=float, default=0.0)
    args = parser.parse_args()
    worker = StubWorker(
        version=args.version,
        model_id=args.model_id,
        seed=args.seed,
        name=args.name,
        port=args.port,
        delay_s=args.delay_s,
    )
    asyncio.run(worker._main(threading.Event()))


if __name__ == "__main__":
    main()
