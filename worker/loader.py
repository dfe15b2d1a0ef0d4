"""Makes the backend of one bundle, once per process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from inference_dna.canonical import Json, Refused, parse_json
from inference_dna.measure.folder import check_folder
from inference_dna.measure.reading import reading_errors
from worker.backend import Backend, ClassifierBackend, TextBackend
from worker.batching import Batching
from worker.bundle import CONFIG, MODEL, BundleRefused
from worker.isolation.guard import Broken, GuardedClassifier, GuardedText, IsolationGuard
from worker.once import Once
from worker.sealed import read_sealed

_SCRIPTS = "generator_*.ts"
_FIXED_SEED = 0
_LOOKED_AT_TEXT, _LOOKED_AT_CLASSIFIED = 1, 64
"""Looking takes as long as a token or a few; a classification is shorter than that."""


class Kind(StrEnum):
    """What computes. `auto` is told by the bundle's files."""

    AUTO = "auto"
    ONNX = "onnx"
    TRANSFORMERS = "transformers"
    TORCHSCRIPT = "torchscript"


@dataclass(frozen=True, slots=True)
class Opened:
    """A loaded bundle: what computes, and which of the two kinds of answers it gives."""

    backend: Backend
    text: TextBackend | None = None
    classifier: ClassifierBackend | None = None

    def guarded(self, *, every: int | None, broken: Broken) -> Opened:
        """The same under the isolation guard, sealed as it is now; a classifier answers in batches where it may.

        Args:
            every: Look at every so-manieth answer; None: at all that are generated, at one classification in 64.
            broken: Is told each violation.
        """
        usual = _LOOKED_AT_TEXT if self.text is not None else _LOOKED_AT_CLASSIFIED
        guard = IsolationGuard(self.backend, every=every or usual, broken=broken)
        return Opened(
            self.backend,
            text=self.text and GuardedText(self.text, guard),
            classifier=self.classifier and Batching(GuardedClassifier(self.classifier, guard)),
        )


class Loader:
    """Opens a bundle when it is first asked for, whoever asks, and never twice.

    Args:
        root: Folder of the bundle.
        kind: What computes.
        deterministic: Whether libraries must use deterministic algorithms, and chance is the same for everybody.
    """

    def __init__(self, root: Path, kind: Kind = Kind.AUTO, *, deterministic: bool = False) -> None:
        self._root, self._kind, self._deterministic = root, kind, deterministic
        self._once = Once(self._open)

    def get(self) -> Opened:
        """Give the opened bundle.

        Raises:
            BundleRefused: It cannot be served; the same each time.
        """
        return self._once.get()

    async def get_soon(self) -> Opened:
        """As `get`, without holding up the event loop."""
        return await self._once.get_soon()

    def _open(self) -> Opened:
        kind = told_kind(self._root) if self._kind is Kind.AUTO else self._kind
        return _OPENERS[kind](self._root, deterministic=self._deterministic)


def told_kind(root: Path) -> Kind:
    """Tell by the files of a bundle what computes.

    Raises:
        BundleRefused: By none of them.
    """
    if (root / MODEL).exists():
        return Kind.ONNX
    if next(root.glob(_SCRIPTS), None) is not None:
        return Kind.TORCHSCRIPT
    if (root / CONFIG).exists():
        return Kind.TRANSFORMERS
    raise BundleRefused(
        f"The bundle {root.name} has no {MODEL}, no {_SCRIPTS} and no {CONFIG}; nothing here can serve it."
    )


def _open_onnx(root: Path, *, deterministic: bool) -> Opened:
    """The demo's way: its sums are always made in one order, so that there is no other mode."""
    from worker.backends.onnx_classifier import load_onnx_classifier

    backend = load_onnx_classifier(root)
    return Opened(backend, classifier=backend)


def _open_transformers(root: Path, *, deterministic: bool) -> Opened:
    architecture = _architecture(root)
    _check_files(root)
    _settle(deterministic)
    if "SequenceClassification" in architecture:
        from worker.backends.sequence_classifier import load_sequence_classifier

        classifier = load_sequence_classifier(root, architecture)
        return Opened(classifier, classifier=classifier)
    from worker.backends.causal_lm import load_causal_lm

    model = load_causal_lm(root, architecture, read_sealed(root, seed=_seed(deterministic)))
    return Opened(model, text=model)


def _open_torchscript(root: Path, *, deterministic: bool) -> Opened:
    from worker.backends.packed_generator import load_packed_generator

    _settle(deterministic)
    archives = sorted(root.glob(_SCRIPTS))
    if len(archives) != 1:
        raise BundleRefused(f"The bundle {root.name} has {len(archives)} files {_SCRIPTS}; it must have one.")
    generator = load_packed_generator(archives[0], seed=_seed(deterministic))
    return Opened(generator, text=generator)


_OPENERS: dict[Kind, Callable[..., Opened]] = {
    Kind.ONNX: _open_onnx,
    Kind.TRANSFORMERS: _open_transformers,
    Kind.TORCHSCRIPT: _open_torchscript,
}


def _seed(deterministic: bool) -> int | None:
    return _FIXED_SEED if deterministic else None


def _settle(deterministic: bool) -> None:
    from worker.backends.torch_process import settle

    try:
        settle(deterministic=deterministic)
    except Refused as error:
        raise BundleRefused(str(error)) from error


def _check_files(root: Path) -> None:
    """A file that is not what it claims to be is refused before any library opens it: a pickle would be run."""
    try:
        check_folder(root)
    except Refused as error:
        raise BundleRefused(f"The bundle {root.name} cannot be served. {error}") from error


def _architecture(root: Path) -> str:
    try:
        with reading_errors(f"the file {CONFIG!a} of {root.name}"):
            config: Json = parse_json((root / CONFIG).read_bytes())
        names = config.get("architectures") if isinstance(config, dict) else None
    except Refused as error:
        raise BundleRefused(f"The bundle {root.name} cannot be served. {error}") from error
    if not isinstance(names, list) or not names:
        raise BundleRefused(f"The file {CONFIG} of {root.name} names no architecture.")
    return str(names[0])
