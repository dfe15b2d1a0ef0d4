"""`dna attest`: attests one engine until told to stop."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread

from inference_dna.assurance import Assurance
from inference_dna.attest.answers import Address
from inference_dna.attest.asked import Asked
from inference_dna.attest.attestor import LOOK_S, Attestor
from inference_dna.attest.engines import engine_named
from inference_dna.attest.process import require_running
from inference_dna.attest.server import Listen, open_server
from inference_dna.canonical import Refused
from inference_dna.genome import parse_bind
from inference_dna.measure.devices.nvidia_smi import find_nvidia_smi
from inference_dna.measure.devices.nvml import find_nvml
from inference_dna.measure.healthz import Served
from inference_dna.measure.reading import reading_errors
from inference_dna.semver import read_version


@dataclass(frozen=True, slots=True)
class Order:
    """What to attest. `look_s` is the time between two looks in seconds."""

    engine: str
    pid: int
    model: Path
    listen: str
    url: str
    model_id: str
    version: str | None = None
    served_model: str | None = None
    exclude: Sequence[str] = ()
    bind: Sequence[str] = ()
    api_key_file: Path | None = None
    look_s: float = LOOK_S


def attest(order: Order) -> None:
    """Attest an engine until SIGTERM or SIGINT.

    Raises:
        Refused: Something of the order cannot be used. An engine that cannot be measured is no reason to end: the
            answer says why.
    """
    attestor = prepare(order)
    stop = Event()
    server = open_server(Listen.parse(order.listen), attestor)
    looking = Thread(target=attestor.run, args=(stop,), kwargs={"every_s": order.look_s}, name="look", daemon=True)
    answering = Thread(target=server.serve_forever, name="answer", daemon=True)
    with _ended_by_signal(stop):
        looking.start()
        answering.start()
        sys.stderr.write(f"Attesting {order.engine} (process {order.pid}) on {order.listen}/healthz.\n")
        stop.wait()
    server.shutdown()
    server.server_close()


def prepare(order: Order) -> Attestor:
    """Make the attestor of an order.

    Raises:
        Refused: As `attest`.
    """
    stated = order.version or order.model.absolute().name
    version = read_version(stated)
    if version is None:
        raise Refused(f"{stated!a} is no version; say --version, like v2.4.0.")
    if not order.model.exists():
        raise Refused(f"There is no model at {str(order.model)!a}.")
    asked = Asked(
        engine_named(order.engine),
        Address.parse(order.url),
        order.model,
        served_model=order.served_model,
        exclude=tuple(order.exclude),
        bind=parse_bind(sorted(set(order.bind))),
        api_key=None if order.api_key_file is None else _first_line(order.api_key_file),
        nvml=find_nvml(),
        nvidia_smi=find_nvidia_smi(),
    )
    return Attestor(asked, Served(order.model_id, version, Assurance.FULL_HASH), require_running(order.pid))


def _first_line(path: Path) -> str:
    with reading_errors(f"the file {str(path)!a}"):
        return path.read_text(encoding="utf-8").partition("\n")[0].strip()


@contextmanager
def _ended_by_signal(stop: Event) -> Iterator[None]:
    before = {number: signal.signal(number, lambda *_: stop.set()) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
