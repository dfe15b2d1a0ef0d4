"""Starts a worker: `python -m worker BUNDLE --port P`. This file wires; read `run` to see everything that exists."""

from __future__ import annotations

import argparse
import logging
import os
import secrets
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from threading import Thread

from inference_dna import headers
from inference_dna.measure.healthz import Served
from worker.app import Surroundings, build_app
from worker.bundle import BundleRefused, read_manifest
from worker.identity import Nameless, claim
from worker.lane import Lane
from worker.lifecycle import Lifecycle, State, Status
from worker.server import serve
from worker.stamping import Stamped, Stamps, stamping_protocol

_LOG = logging.getLogger("worker")
_UNUSABLE = 2


def run(
    bundle: Path,
    host: str,
    port: int,
    *,
    model_id: str | None = None,
    version: str | None = None,
    threads: int = 2,
    waiting: int = 64,
    delay_s: float = 0.0,
) -> None:
    """Serve a bundle until SIGTERM or SIGINT.

    Args:
        bundle: Its folder.
        host: Address to listen on.
        port: Port to listen on.
        model_id: What the worker claims to be; None takes it from the manifest.
        version: As `model_id`.
        threads: How many messages are answered at once.
        waiting: How many more may wait; above that the answer is 429.
        delay_s: Waited before each answer and each event; it changes no answer.

    Raises:
        BundleRefused: The folder is missing or its manifest cannot be read.
        Nameless: Nothing says what the bundle is.
    """
    started_at = _now()
    if not bundle.is_dir():
        raise BundleRefused(f"There is no bundle at {bundle}.")
    manifest = read_manifest(bundle)
    served = claim(manifest, model_id=model_id, version=version)
    lifecycle = Lifecycle(announce=partial(_announce, served))
    lane = Lane(threads=threads, waiting=waiting)
    around = Surroundings(
        lifecycle=lifecycle,
        served=served,
        manifest=manifest,
        lane=lane,
        boot_id=secrets.token_hex(16),
        uptime_s=lambda: _now() - started_at,
        delay_s=delay_s,
    )
    stamps = Stamps(lifecycle, served)
    Thread(target=lifecycle.load, args=(bundle, dict(os.environ)), name="load", daemon=True).start()
    _LOG.info("%s %s is loading, on http://%s:%d", served.model_id, served.version, host, port)
    try:
        serve(Stamped(build_app(around), stamps), stamping_protocol(stamps.headers), host=host, port=port)
    finally:
        lane.close()


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line and run; 2 for a bundle that cannot be served."""
    options = _parser().parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
    try:
        run(
            options.bundle,
            options.host,
            options.port,
            model_id=options.model_id,
            version=options.version,
            threads=options.threads,
            waiting=options.waiting,
            delay_s=options.delay_ms / 1000,
        )
    except (BundleRefused, Nameless) as error:
        sys.stderr.write(f"{error}\n")
        return _UNUSABLE
    return 0


def _announce(served: Served, state: State) -> None:
    if state.loaded is not None and state.status is Status.OK:
        dna = state.loaded.genome.digests.dna()
        _LOG.info("%s %s is ready: %s %s", served.model_id, served.version, headers.DNA, dna)
    if state.loaded is None:
        _LOG.error("%s %s is not ready: %s", served.model_id, served.version, state.reason)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m worker", description="Serves one bundle.")
    parser.add_argument("bundle", type=Path, help="folder of the bundle")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
    parser.add_argument("--port", type=int, required=True, help="port to listen on")
    parser.add_argument("--model-id", help="what the worker claims to be; the manifest's model by default")
    parser.add_argument("--version", help="what the worker claims to be; the manifest's version by default")
    parser.add_argument("--threads", type=_from(1), default=2, help="messages answered at once")
    parser.add_argument("--waiting", type=_from(0), default=64, help="further messages that may wait; above that 429")
    parser.add_argument("--delay-ms", type=_from(0), default=0, help="waited before each answer and each event")
    return parser


def _from(least: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        value = int(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"must be {least} or more, not {value}")
        return value

    return number


# The worker's one clock; every other file is handed what it needs of it.
_now = time.monotonic  # noqa: TID251
