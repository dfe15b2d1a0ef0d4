"""`dna manifest` and `tools/generate_dna_manifest.py`: measures a model and writes its manifest (dna.md section 8).

Only the standard library is imported until an engine or a key asks for more.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path

from inference_dna.canonical import Json, Refused
from inference_dna.difference.tensor_changes import LIST, tensor_list
from inference_dna.golden import parse_golden, with_golden
from inference_dna.making.manifest_text import manifest_lines, manifest_text, unmeasured_lines
from inference_dna.making.measurers import AUTO, TRANSFORMERS, Asked, Measured, measure
from inference_dna.making.whole_file import STANDARD_OUTPUT, write_whole
from inference_dna.manifest import UNMEASURED, Manifest, Subject, build_manifest, parse_manifest
from inference_dna.measure.digest_cache import open_cache
from inference_dna.measure.progress import progress_bar
from inference_dna.measure.reading import reading_errors
from inference_dna.measure.unasked import AT_REST
from inference_dna.measure.work import Work
from inference_dna.semver import read_version
from inference_dna.trust.passphrase import read_passphrase
from inference_dna.trust.signing import sign_ed25519
from inference_dna.trust.verify import WRITTEN_AFTER

FAILED = 1


@dataclass(frozen=True, slots=True)
class Order:
    """What to measure and where to write it.

    `output` may be `-`, standard output. `probe` says whether the tokenizer must be asked; None asks it where that is
    possible, and the manifest says where it was not. `digest_cache` is a folder that remembers the digests of large
    files: a manifest that used one is `stat-cached` and no longer `full-hash`.
    """

    model: Path
    output: Path
    model_id: str | None = None
    version: str | None = None
    artifact_only: bool = False
    tensors: bool = False
    sign: Path | None = None
    passphrase_file: Path | None = None
    engine: str = AUTO
    probe: bool | None = None
    exclude: tuple[str, ...] = ()
    golden: Path | None = None
    digest_cache: Path | None = None


def main(arguments: Sequence[str] | None = None, *, program: str | None = None) -> int:
    """Read a command line and write a manifest; the answer is the exit code, 1 where nothing was written."""
    order = parse_order(arguments, program=program)
    try:
        manifest, engine = generate(order, now=datetime.now(UTC))
    except Refused as refused:
        sys.stderr.write(f"{program or 'manifest'}: {refused}\n")
        return FAILED
    # With the document itself on standard output, people read on standard error.
    out = sys.stderr if order.output == STANDARD_OUTPUT else sys.stdout
    out.writelines(f"{line}\n" for line in manifest_lines(manifest, engine=engine, written_to=order.output))
    sys.stderr.writelines(f"{line}\n" for line in unmeasured_lines(manifest))
    return 0


def generate(order: Order, *, now: datetime) -> tuple[Manifest, str]:
    """Measure, and write the manifest in one step: it is there whole or not at all.

    Args:
        order: What to do.
        now: The time of making, in UTC.

    Returns:
        The manifest and who measured it.

    Raises:
        Refused: A fact could not be read, a name or key cannot be used, or the output cannot be written.
    """
    subject = _subject(order)
    _check_output(order)
    cache = None if order.digest_cache is None else open_cache(order.digest_cache, _wall_clock)
    with progress_bar(sys.stderr, _seconds) as watch:
        work = Work(watch=watch, cache=cache, tensors=order.tensors)
        measured = measure(Asked(order.model, order.engine, order.exclude, order.probe, work))
    sys.stderr.writelines(f"{note}\n" for note in sorted(cache.notes if cache is not None else ()))
    document = build_manifest(
        _genome(order, measured),
        subject=subject,
        created_at=now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        assurance=measured.assurance,
    )
    if order.sign is not None:
        document = sign_ed25519(document, _read(order.sign), read_passphrase(order.passphrase_file))
    text = manifest_text(document)
    # Read back before it is written: nobody shall find a manifest that its own reader refuses.
    manifest = parse_manifest(text)
    write_whole(order.output, text)
    return manifest, measured.engine


def parse_order(arguments: Sequence[str] | None = None, *, program: str | None = None) -> Order:
    """Read a command line; a wrong one ends the process with 2."""
    options = _parser(program).parse_args(arguments)
    given = vars(options)
    return Order(**{**given, "exclude": tuple(options.exclude)})


def _parser(program: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=program, description="Measure a model and write its manifest.")
    parser.add_argument("--model", type=Path, required=True, help="folder or file of the model")
    parser.add_argument("--output", type=Path, required=True, help="where it is written; - is standard output")
    parser.add_argument("--model-id", help="what the model is called; without it the manifest makes no contract")
    parser.add_argument("--version", help="its version; the folder's name where that is a SemVer version")
    parser.add_argument("--artifact-only", action="store_true", help="leave out framework and hardware")
    parser.add_argument("--tensors", action="store_true", help="hash tensor by tensor, too: tells what was repackaged")
    parser.add_argument("--sign", type=Path, metavar="KEY", help="sign with this Ed25519 private key (PEM)")
    parser.add_argument("--passphrase-file", type=Path, metavar="FILE", help="what the key is encrypted with")
    parser.add_argument(
        "--engine", default=AUTO, help=f"{AUTO} (default), {TRANSFORMERS}, {AT_REST}, or a function as module:function"
    )
    parser.add_argument(
        "--probe",
        action=argparse.BooleanOptionalAction,
        help="the tokenizer must be asked, or must not; without a word it is asked where a library for it is here",
    )
    parser.add_argument("--exclude", action="append", default=[], metavar="GLOB", help="weight files to leave out")
    parser.add_argument(
        "--digest-cache", type=Path, metavar="DIR", help="remember digests there: faster, and only stat-cached"
    )
    parser.add_argument("--golden", type=Path, metavar="FILE", help="ids to answer at every start")
    return parser


def _subject(order: Order) -> Subject | None:
    """Name the model; what was asked for and cannot be had is refused, what nobody asked for is null."""
    # The name as it was given: a folder may well be a link to one that is called otherwise.
    stated = order.version or order.model.absolute().name
    version = read_version(stated)
    if order.version is not None and version is None:
        raise Refused(f"{order.version!a} is no version; write it like v2.4.0.")
    if order.model_id is None:
        if order.version is not None:
            raise Refused("A version without a model names nothing; say --model-id as well.")
        return None
    if version is None:
        raise Refused(f"The folder's name {stated!a} is no version; say --version.")
    return Subject(order.model_id, version)


def _check_output(order: Order) -> None:
    """Refuse what would make the folder differ from its own manifest."""
    if order.output == STANDARD_OUTPUT or not order.model.is_dir():
        return
    inside = order.output.resolve().parent == order.model.resolve()
    if inside and not any(fnmatchcase(order.output.name, pattern) for pattern in WRITTEN_AFTER):
        raise Refused("Inside the model's folder a manifest must be named manifest*.json.")


def _genome(order: Order, measured: Measured) -> dict[str, Json]:
    left_out = UNMEASURED if order.artifact_only else ()
    genome = {name: value for name, value in measured.genome.items() if name not in left_out}
    genome["weights"] = _with_evidence(genome["weights"], measured)
    if order.golden is None:
        return genome
    return with_golden(genome, parse_golden(_read(order.golden), measured.generate))


def _with_evidence(weights: Json, measured: Measured) -> Json:
    """Add the list of tensors, where they were asked for, and take an older manifest out of what was ignored.

    A manifest in the folder is no part of the model: the next one shall not differ for it.
    """
    if not isinstance(weights, Mapping):
        return weights
    evidence = weights.get("evidence")
    held = dict(evidence) if isinstance(evidence, Mapping) else {}
    ignored = held.get("ignored")
    if isinstance(ignored, list):
        held["ignored"] = [name for name in ignored if not _is_manifest(str(name))]
    if measured.tensors is not None:
        held[LIST] = tensor_list(measured.tensors)
    return {**weights, "evidence": held}


def _is_manifest(name: str) -> bool:
    return "/" not in name and any(fnmatchcase(name, pattern) for pattern in WRITTEN_AFTER)


def _read(path: Path) -> bytes:
    with reading_errors(f"the file {str(path)!a}"):
        return path.read_bytes()


_seconds: Callable[[], float] = time.monotonic  # noqa: TID251 - a clock of the command, for its progress bar
_wall_clock: Callable[[], float] = time.time  # noqa: TID251 - and one that files and remembered digests carry
