"""Starts a worker: `dna worker BUNDLE --port P`. This file wires; read `run` to see everything that exists."""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Thread

from inference_dna import guard, headers
from inference_dna.canonical import Refused
from inference_dna.measure.reading import reading_errors
from inference_dna.middleware import InferenceDNA
from inference_dna.serving.receipt import ReceiptKey
from inference_dna.serving.standing import Standing, Status
from inference_dna.trust.keys import read_public_key
from worker.app import build_app
from worker.bundle import MANIFEST, BundleRefused, read_manifest
from worker.identity import Nameless, claim
from worker.lane import Lane
from worker.lifecycle import Crash, Lifecycle, State
from worker.loader import Kind, Loader, told_kind
from worker.readiness import Demands, promises_determinism
from worker.server import serve
from worker.stamping import stamping_protocol
from worker.surface.inference_protocol import LIVE
from worker.surface.surroundings import Surroundings

_LOG = logging.getLogger("worker")
_UNUSABLE = 2


class Crashed(Exception):
    """The worker ended by itself: exit code and report."""

    def __init__(self, crash: Crash) -> None:
        super().__init__(crash.report)
        self.crash = crash


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line says.

    Attributes:
        bundle: Folder of the bundle.
        port: Port to listen on.
        host: Address to listen on.
        kind: What computes.
        model_id: What the worker claims to be; None takes it from the manifest.
        version: As `model_id`.
        threads: How many requests are answered at once.
        waiting: How many more may wait; above that the answer is 429.
        delay_s: Waited before each answer and each event; it changes no answer.
        deterministic: Use deterministic algorithms and one seed, and prove it before the worker is ok.
        contract: File of the contract: its `deterministic` asks for the same, its hardware must be there.
        trust: Files of public keys; a manifest beside the model must be signed by one of them.
        unsigned: Take that manifest without a signature.
        guard_every: The isolation guard looks at every so-manieth answer; None leaves it to the kind of backend.
        receipt_key: File of the private key that signs receipts; None signs none.
    """

    bundle: Path
    port: int
    host: str = "127.0.0.1"
    kind: Kind = Kind.AUTO
    model_id: str | None = None
    version: str | None = None
    threads: int = 2
    waiting: int = 64
    delay_s: float = 0.0
    deterministic: bool = False
    contract: Path | None = None
    trust: tuple[Path, ...] = ()
    unsigned: bool = False
    guard_every: int | None = None
    receipt_key: Path | None = None


def run(options: Options) -> None:
    """Serve a bundle until SIGTERM or SIGINT.

    Raises:
        BundleRefused: The folder is missing or its manifest cannot be read.
        Refused: A key cannot be read.
        Nameless: Nothing says what the bundle is.
        Crashed: The bundle cannot be loaded, or is not what it must be.
    """
    if not options.bundle.is_dir():
        raise BundleRefused(f"There is no bundle at {options.bundle}.")
    demands = demanded(options)
    standing = Standing(claim(demands.noted, model_id=options.model_id, version=options.version))
    receipts = None if options.receipt_key is None else ReceiptKey(_read(options.receipt_key))
    crashes: list[Crash] = []

    def end(crash: Crash) -> None:
        crashes.append(crash)
        os.kill(os.getpid(), signal.SIGTERM)

    lifecycle = Lifecycle(standing, announce=lambda state: _announce(standing, state), end=end)
    lane = Lane(threads=options.threads, waiting=options.waiting)
    around = Surroundings(standing, lambda: lifecycle.state.loaded, lane, delay_s=options.delay_s)
    app = InferenceDNA(build_app(around), standing, receipts=receipts, always=(LIVE,))
    loader = Loader(options.bundle, options.kind, deterministic=demands.deterministic)
    load = Thread(target=lifecycle.load, args=(loader, dict(os.environ), demands), name="load", daemon=True)

    def begin() -> None:
        _LOG.info("%s is loading, on http://%s:%d", _name(standing), options.host, options.port)
        load.start()

    try:
        # A load that fails at once must find a server that can be told to end.
        serve(app, stamping_protocol(standing), host=options.host, port=options.port, listening=begin)
    finally:
        lane.close()
        if crashes:
            raise Crashed(crashes[0])


def demanded(options: Options) -> Demands:
    """Say what must be proved before the worker is ok.

    A manifest beside a model of transformers or a packed generator must hold. One beside the demo's bundle is noted,
    unless somebody says whom to trust: what a worker may answer is the gateway's to say, by the contract.

    Raises:
        BundleRefused: The manifest or the contract cannot be read, or nothing tells what kind of bundle it is.
        Refused: A key cannot be read.
    """
    noted = read_manifest(options.bundle)
    kind = told_kind(options.bundle) if options.kind is Kind.AUTO else options.kind
    must_hold = noted is not None and (kind is not Kind.ONNX or bool(options.trust) or options.unsigned)
    keys = tuple(read_public_key(_read(path)) for path in options.trust)
    promised = options.contract is not None and promises_determinism(options.contract)
    return Demands(
        manifest=options.bundle / MANIFEST if must_hold else None,
        trust=guard.Trust(keys, unsigned=options.unsigned),
        contract=options.contract,
        deterministic=options.deterministic or promised,
        noted=noted,
        guard_every=options.guard_every,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line and run; the answer is the exit code, as docs/guides/workers.md lists them."""
    options = parse(arguments)
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
    try:
        run(options)
    except (BundleRefused, Nameless, Refused) as error:
        sys.stderr.write(f"{error}\n")
        return _UNUSABLE
    except Crashed as crashed:
        sys.stderr.write(crashed.crash.report)
        return crashed.crash.code
    return 0


def parse(arguments: Sequence[str] | None) -> Options:
    """Read the command line; ends the process with 2 where it cannot be understood."""
    parser = _parser()
    told = vars(parser.parse_args(arguments))
    bundle, model = told.pop("bundle"), told.pop("model")
    if (bundle is None) == (model is None):
        parser.error("say which bundle to serve: BUNDLE, or --model BUNDLE")
    return Options(
        bundle=bundle or model,
        kind=Kind(told.pop("backend")),
        delay_s=told.pop("delay_ms") / 1000,
        trust=tuple(told.pop("trust")),
        **told,
    )


def _announce(standing: Standing, state: State) -> None:
    if state.status is Status.OK and state.loaded is not None:
        _LOG.info("%s is ready: %s %s", _name(standing), headers.DNA, state.loaded.genome.digests.dna())
    # Why a start failed is the last that the process says; a worker that was ok goes on, so it is said here.
    if state.status is Status.PENDING:
        _LOG.error("%s is not ready: %s", _name(standing), state.reason)


def _name(standing: Standing) -> str:
    return f"{standing.served.model_id} {standing.served.version}"


def _read(path: Path) -> bytes:
    with reading_errors(f"the file {str(path)!a}"):
        return path.read_bytes()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="dna worker", description="Serves one bundle.")
    add = parser.add_argument
    add("bundle", type=Path, nargs="?", help="folder of the bundle")
    add("--model", type=Path, metavar="BUNDLE", help="the same, as an option")
    add("--backend", choices=[kind.value for kind in Kind], default=Kind.AUTO.value, help="what computes")
    add("--host", default="127.0.0.1", help="address to listen on")
    add("--port", type=_from(0, most=65_535), required=True, help="port to listen on")
    add("--model-id", help="what the worker claims to be; the manifest's model by default")
    add("--version", help="what the worker claims to be; the manifest's version by default")
    add("--threads", type=_from(1), default=2, help="requests answered at once")
    add("--waiting", type=_from(0), default=64, help="further requests that may wait; above that 429")
    add("--delay-ms", type=_from(0), default=0, help="waited before each answer and each event")
    add("--deterministic", action="store_true", help="deterministic algorithms and one seed, proved at the start")
    add("--contract", type=Path, help="contract whose hardware and determinism this worker must keep")
    add("--trust", type=Path, action="append", default=[], metavar="KEY", help="public key that may sign the manifest")
    add("--unsigned", action="store_true", help="take the manifest without a signature")
    add("--guard-every", type=_from(1), metavar="N", help="look for broken isolation at every Nth answer")
    add("--receipt-key", type=Path, metavar="KEY", help="private key that signs receipts")
    return parser


def _from(least: int, *, most: int | None = None) -> Callable[[str], int]:
    bounds = f"{least} or more" if most is None else f"from {least} to {most}"

    def number(text: str) -> int:
        value = int(text)
        if value < least or (most is not None and value > most):
            raise argparse.ArgumentTypeError(f"must be {bounds}, not {value}")
        return value

    return number
