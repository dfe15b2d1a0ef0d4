"""Refuses to start a worker that is something else than its manifest promises.

    from inference_dna import guard

    worker = guard.transformers(model, tokenizer, "models/v2.4.0")
    standing = guard.require("manifest.json", worker, trust=["release.pem.pub"])

Call it before a socket is opened. It verifies who signed the manifest, warms the model up, measures the process,
compares it section by section and with the pins of the contract, compares the tensors in memory with the files, and
asks the golden input. What it returns has the status `ok`. On anything else it prints a table and ends the process: 86
where the worker is something else than promised, 87 where that could not be found out.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from inference_dna.assurance import Assurance
from inference_dna.canonical import Json, Refused, canonical
from inference_dna.difference.diff import compare
from inference_dna.difference.text import meaning, short
from inference_dna.genome import Genome, genome
from inference_dna.golden import Generate, golden_of, parting
from inference_dna.manifest import Manifest, Subject, build_manifest, parse_manifest
from inference_dna.measure.healthz import Served
from inference_dna.measure.reading import reading_errors
from inference_dna.measure.work import Work
from inference_dna.serving.standing import Standing
from inference_dna.starting.guard_table import Row, table
from inference_dna.starting.pins import parse_pins, pins_of_contract, unmet
from inference_dna.trust.keys import TrustedKey, read_public_key
from inference_dna.trust.signing import signers

MISMATCH = 86
"""Exit code of a worker that is something else than its manifest promises."""
UNPROVEN = 87
"""Exit code where that is not known: no trusted signature, an unread fact, a failed warm-up, an unasked manifest."""

PIN_MEANING = "the contract asks for it, whatever the manifest says"
LOADED_MEANING = "what lies in memory is not what the files hold"
GOLDEN_MEANING = "the same input gets another answer"


class GuardRefused(Exception):
    """The worker must not start. `code` is the exit code, `rows` what differs, the message says what happened."""

    def __init__(self, message: str, *, code: int, rows: Sequence[Row] = ()) -> None:
        super().__init__(message)
        self.code = code
        self.rows = tuple(rows)

    def report(self) -> str:
        """The refusal for a person at a terminal."""
        return f"{self}\n{table(self.rows)}" if self.rows else f"{self}\n"


@dataclass(frozen=True, slots=True)
class Worker:
    """How a worker is measured and asked; what it has not is None.

    Attributes:
        measure: Gives the genome of this process; is handed the manifest's `bind`.
        warm_up: One inference whose result is dropped: the first call compiles and tunes kernels.
        generate: Greedy answers in token ids, for the golden input.
        loaded: Says what in memory differs from the files, None where nothing does.
        assurance: How far the measurement reached; asked after it.
    """

    measure: Callable[[Sequence[str]], Mapping[str, Json]]
    warm_up: Callable[[], object] | None = None
    generate: Generate | None = None
    loaded: Callable[[], str | None] | None = None
    assurance: Callable[[], Assurance] = lambda: Assurance.FULL_HASH


@dataclass(frozen=True, slots=True)
class Trust:
    """Whose signatures count. `unsigned` takes a manifest that nobody signed, and standard error says so."""

    keys: tuple[TrustedKey, ...] = ()
    unsigned: bool = False


def require(
    manifest: str | Path,
    worker: Worker,
    *,
    trust: Trust | Iterable[str | Path | TrustedKey],
    pins: Mapping[str, Json] | None = None,
    contract: str | Path | None = None,
) -> Standing:
    """Give the standing of a worker that is what its manifest promises, or end the process.

    Args:
        manifest: File of the manifest.
        worker: How to measure and ask this process; `transformers(...)` makes one.
        trust: Public keys (files in PEM, or `TrustedKey`s) whose signatures count, or a `Trust`.
        pins: Further demands, as `inference_dna.starting.pins` reads them: `{"cuda": "12.1", "cudnn": "8.9.2"}`.
        contract: File of the contract; its hardware_requirements are pins too.

    Raises:
        SystemExit: With `MISMATCH` or `UNPROVEN`, after the table was printed on standard error.
    """
    try:
        return check(manifest, worker, trust=trust, pins=pins, contract=contract)
    except GuardRefused as refused:
        sys.stderr.write(refused.report())
        raise SystemExit(refused.code) from refused


def check(
    manifest: str | Path,
    worker: Worker,
    *,
    trust: Trust | Iterable[str | Path | TrustedKey],
    pins: Mapping[str, Json] | None = None,
    contract: str | Path | None = None,
    now: datetime | None = None,
) -> Standing:
    """As `require`, for callers that end the process themselves.

    Args:
        manifest: As in `require`.
        worker: As in `require`.
        trust: As in `require`.
        pins: As in `require`.
        contract: As in `require`.
        now: When trusted keys must count; None asks the clock.

    Raises:
        GuardRefused: The worker must not start.
    """
    with _unproven():
        promised = _trusted_manifest(Path(manifest), _trust(trust), now or datetime.now(UTC))
        demands = {**_contract_pins(contract), **parse_pins(pins or {})}
        subject = _subject(promised)
        # First of all: only a process that computed once has all its libraries mapped and its kernels chosen.
        _warm_up(worker)
        with _failing("The measurement"):
            measured = genome(worker.measure(_bind(promised)))
        rows = [*_sections(promised, measured), *_pinned(demands, measured), *_loaded(worker)]
    _stop_at(rows, promised)
    with _unproven():
        rows = _golden(promised, worker)
    _stop_at(rows, promised)
    standing = Standing(Served(subject.model_id, subject.version, worker.assurance()))
    standing.measured(measured)
    standing.ready()
    return standing


def transformers(
    model: Any,
    tokenizer: Any,
    folder: str | Path,
    *,
    compare_loaded: bool = True,
    work: Work | None = None,
    **ways: Any,
) -> Worker:
    """Describe a worker around a loaded transformers model.

    Args:
        model: Loaded and moved to its device.
        tokenizer: The one that requests go through.
        folder: What `from_pretrained` was given.
        compare_loaded: Whether tensors in memory are hashed and compared with the files.
        work: How files are hashed; a cache of digests makes restarts fast and the assurance `stat-cached`.
        ways: What the worker does beside it, as `inference_dna.measure.transformers_model.measure` takes it:
            `processors`, `filters`, `defaults`, `adapters`, `paths`.
    """
    from inference_dna.starting.loaded_model import LoadedModel

    how = replace(work or Work(), tensors=compare_loaded)
    loaded = LoadedModel(model, tokenizer, Path(folder), ways, how)
    return Worker(
        measure=loaded.measure,
        warm_up=loaded.warm_up,
        generate=loaded.generate,
        loaded=loaded.difference if compare_loaded else None,
        assurance=lambda: loaded.assurance,
    )


def _trust(trust: Trust | Iterable[str | Path | TrustedKey]) -> Trust:
    if isinstance(trust, Trust):
        return trust
    return Trust(tuple(each if isinstance(each, TrustedKey) else _public_key(Path(each)) for each in trust))


def _public_key(path: Path) -> TrustedKey:
    return read_public_key(_read(path))


def _trusted_manifest(path: Path, trust: Trust, now: datetime) -> Manifest:
    manifest = parse_manifest(_read(path))
    if trust.unsigned:
        sys.stderr.write(
            f"The manifest {path} is taken without a signature, as this worker asks; nobody vouches for it.\n"
        )
    else:
        signers(manifest, trust.keys, now=now).require()
    return manifest


def _contract_pins(contract: str | Path | None) -> Mapping[str, Json]:
    if contract is None:
        return {}
    try:
        return pins_of_contract(_read(Path(contract)))
    except Refused as refused:
        raise Refused(f"The contract {str(contract)!a} cannot be used; it is one JSON document. {refused}") from refused


def _read(path: Path) -> bytes:
    with reading_errors(f"the file {str(path)!a}"):
        return path.read_bytes()


def _subject(promised: Manifest) -> Subject:
    if promised.subject is None:
        raise Refused("The manifest names no model; make it with --model-id and --version.")
    return promised.subject


def _bind(promised: Manifest) -> Sequence[str]:
    bind = promised.genome.get("bind", [])
    return [str(entry) for entry in bind] if isinstance(bind, list) else []


def _sections(promised: Manifest, measured: Genome) -> list[Row]:
    """Rows for the sections that differ; what the manifest did not measure it does not promise."""
    kept = {name: value for name, value in measured.document.items() if name not in promised.unmeasured}
    document = build_manifest(
        kept, subject=promised.subject, created_at=promised.created_at, assurance=promised.assurance
    )
    return [
        Row(
            section.section,
            short(section.before),
            short(section.after),
            meaning(section),
            tuple(f"{change.kind.value} {change.sentence()}" for change in section.changes),
            section.is_proven,
        )
        for section in compare(promised, parse_manifest(canonical(document))).differing
        if section.section not in promised.unmeasured
    ]


def _pinned(pins: Mapping[str, Json], measured: Genome) -> list[Row]:
    return [Row(f"pin {pin.name}", pin.wanted, pin.measured, PIN_MEANING) for pin in unmet(pins, measured.document)]


def _loaded(worker: Worker) -> list[Row]:
    difference = None if worker.loaded is None else worker.loaded()
    return [] if difference is None else [Row("in memory", "the tensors of the files", difference, LOADED_MEANING)]


def _warm_up(worker: Worker) -> None:
    if worker.warm_up is not None:
        with _failing("The warm-up"):
            worker.warm_up()


def _golden(promised: Manifest, worker: Worker) -> list[Row]:
    golden = golden_of(promised.genome)
    if golden is None:
        return []
    if worker.generate is None:
        raise Refused("The manifest has a golden input, and this worker cannot be asked it.")
    with _failing("The golden input"):
        answered = worker.generate(golden.input_ids, len(golden.output_ids))
    found = parting(golden, answered)
    return [] if found is None else [Row("golden input", "its recorded tokens", found.sentence(), GOLDEN_MEANING)]


def _stop_at(rows: Sequence[Row], promised: Manifest) -> None:
    if not rows:
        return
    subject = promised.subject
    named = "the model" if subject is None else f"{subject.model_id} {subject.version}"
    if any(row.is_proven for row in rows):
        message = f"This worker is not {named} as its manifest promises it; it must not start."
        raise GuardRefused(message, code=MISMATCH, rows=rows)
    message = (
        f"Whether this worker is {named} cannot be found out: the manifest was made without asking. Make it with the "
        "engine that serves; the worker must not start."
    )
    raise GuardRefused(message, code=UNPROVEN, rows=rows)


@contextmanager
def _unproven() -> Iterator[None]:
    """What cannot be found out is no mismatch, and no reason to start either."""
    try:
        yield
    except Refused as refused:
        raise GuardRefused(f"The worker must not start: {refused}", code=UNPROVEN) from refused


@contextmanager
def _failing(what: str) -> Iterator[None]:
    """Turn whatever the worker's own code raises into a refusal."""
    try:
        yield
    except Refused:
        raise
    except Exception as error:
        raise Refused(f"{what} ended in {type(error).__name__}: {error}.") from error
