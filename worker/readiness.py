"""Proves what was demanded of a loaded worker before it is ok: its manifest, and that it answers the same twice."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from inference_dna import guard
from inference_dna.canonical import Json, Refused, parse_json
from inference_dna.genome import Genome, genome
from inference_dna.manifest import Manifest
from inference_dna.probe import PROBE_TEXTS
from worker.backend import ClassifierBackend, TextBackend
from worker.bundle import BundleRefused
from worker.generation import GenerationRequest, Settings, Token
from worker.identity import manifest_note
from worker.loader import Opened

_REPEATS = 3
_TOKENS = 8
_PROMPT = "The same input, asked again."
_MODES = (Settings(max_new_tokens=_TOKENS), Settings(max_new_tokens=_TOKENS, temperature=1.0, seed=0))


class SelfTestFailed(Exception):
    """The worker does not do what it was told to promise; the message is a sentence."""


@dataclass(frozen=True, slots=True)
class Demands:
    """What must be proved.

    Attributes:
        manifest: The file beside the model, where the worker must be what it promises; None where it is only noted.
        trust: Whose signatures of that file count.
        contract: File of the contract whose hardware the worker must have.
        deterministic: Whether the same input must give the same answer.
        noted: The manifest that `/healthz` relates the worker to; None where there is none.
        guard_every: The isolation guard looks at every so-manieth answer; None leaves it to the kind of backend.
    """

    manifest: Path | None = None
    trust: guard.Trust = field(default_factory=guard.Trust)
    contract: Path | None = None
    deterministic: bool = False
    noted: Manifest | None = None
    guard_every: int | None = None


def measure(opened: Opened, environ: Mapping[str, str], demands: Demands) -> tuple[Genome, dict[str, Json]]:
    """Measure a worker that was warmed up, and compare it with what is promised.

    Returns:
        The genome, and notes for `/healthz`.

    Raises:
        GuardRefused: It is not what its manifest promises, or nobody trusted signed that.
        SelfTestFailed: It is not the same twice.
        Refused: A fact could not be read.
    """
    measured = _measured(opened, environ, demands)
    if demands.deterministic and _measured_again(opened, environ, measured).digests != measured.digests:
        raise SelfTestFailed("The worker was measured twice and is not the same; it must not start.")
    return measured, {"manifest": manifest_note(demands.noted, measured.digests)}


def ask_itself(opened: Opened) -> None:
    """Ask the same several times, one after another and at once.

    Raises:
        SelfTestFailed: Two answers differ.
        IsolationBroken: Answering changes what all answers depend on.
    """
    if opened.text is not None:
        for settings in _MODES:
            _test_text(opened.text, settings)
    if opened.classifier is not None:
        _test_classifier(opened.classifier)


def promises_determinism(contract: Path) -> bool:
    """Say whether a contract has `deterministic: true` among its behavioural constraints.

    Raises:
        BundleRefused: The file cannot be read, or is no contract.
    """
    try:
        document = parse_json(contract.read_bytes())
    except (OSError, Refused) as error:
        raise BundleRefused(f"The contract {contract.name} cannot be read. {error}") from error
    members = document.get("contract") if isinstance(document, Mapping) else None
    behaviour = members.get("behavioral_constraints", {}) if isinstance(members, Mapping) else None
    if not isinstance(behaviour, Mapping):
        raise BundleRefused(f"The file {contract.name} is no contract.")
    return behaviour.get("deterministic") is True


def _measured(opened: Opened, environ: Mapping[str, str], demands: Demands) -> Genome:
    described = opened.backend.described(environ)
    if demands.manifest is None:
        return genome(described.measure(()))
    standing = guard.check(demands.manifest, described, trust=demands.trust, contract=demands.contract)
    held = standing.state.genome
    if held is None:
        raise Refused("The guard measured nothing.")
    return held


def _measured_again(opened: Opened, environ: Mapping[str, str], first: Genome) -> Genome:
    bind = first.document.get("bind")
    names = [str(name) for name in bind] if isinstance(bind, list | tuple) else []
    return genome(opened.backend.described(environ).measure(names))


def _test_text(backend: TextBackend, settings: Settings) -> None:
    request = GenerationRequest(backend.encode(_PROMPT), settings)

    def ask(_: int) -> tuple[int, ...]:
        return tuple(item.id for item in backend.generate(request, lambda: False) if isinstance(item, Token))

    alone = [ask(number) for number in range(_REPEATS)]
    with ThreadPoolExecutor(_REPEATS) as threads:
        answers = {*alone, *threads.map(ask, range(_REPEATS))}
    if len(answers) > 1:
        raise SelfTestFailed(
            f"The worker promises to be deterministic and gave {len(answers)} different answers to one input; it must "
            "not start."
        )


def _test_classifier(backend: ClassifierBackend) -> None:
    first, *others = [backend.classify(list(PROBE_TEXTS)) for _ in range(_REPEATS)]
    if any(each != first for each in others):
        raise SelfTestFailed(
            "The worker promises to be deterministic and classified one text differently the second time; it must not "
            "start."
        )
