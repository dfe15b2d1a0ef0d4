"""Reads a bundle: one folder with everything a version is. Each file is read once; what is hashed is what is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from inference_dna.canonical import Json, Refused, parse_json
from inference_dna.files import FileEntry
from inference_dna.manifest import Manifest, parse_manifest
from inference_dna.measure.folder import ModelFolder, measure_folder
from inference_dna.measure.reading import Content, read_content
from worker.postprocess import Postprocess, PostprocessRefused, parse_postprocess

MODEL, CONFIG, TOKENIZER = "model.onnx", "config.json", "tokenizer.json"
POSTPROCESS, MANIFEST = "postprocess.json", "manifest.json"


class BundleRefused(Exception):
    """A bundle that cannot be served; the message names the file and is a sentence for a person."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle in memory. `labels` are the intents in the order of the model's outputs."""

    folder: ModelFolder
    labels: tuple[str, ...]
    postprocess: Postprocess
    postprocess_file: FileEntry

    @property
    def model(self) -> bytes:
        """The model file's bytes, those that were hashed."""
        return self.folder.kept[MODEL]

    @property
    def tokenizer(self) -> bytes:
        """The tokenizer file's bytes, those that were hashed."""
        return self.folder.kept[TOKENIZER]


def read_bundle(root: Path) -> Bundle:
    """Read and hash a bundle.

    Raises:
        BundleRefused: A file is missing, cannot be read, changed meanwhile or does not say what it must.
    """
    try:
        # Post-processing has a section of its own; as a weight file it would make every change look like new weights.
        folder = measure_folder(root, exclude=[POSTPROCESS], keep=[MODEL, CONFIG, TOKENIZER])
        labels = _parse_labels(parse_json(folder.kept[CONFIG]))
        values = _read(root / POSTPROCESS)
        postprocess = parse_postprocess(parse_json(values.kept or b""), labels)
    except (Refused, PostprocessRefused) as error:
        raise BundleRefused(f"The bundle {root.name} cannot be served. {error}") from error
    return Bundle(folder, labels, postprocess, values.entry)


def read_manifest(root: Path) -> Manifest | None:
    """Read the bundle's manifest; None where there is none.

    Raises:
        BundleRefused: There is one and it is no manifest, or disagrees with itself.
    """
    try:
        return parse_manifest((root / MANIFEST).read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, Refused) as error:
        raise BundleRefused(f"The manifest of {root.name} cannot be read. {error}") from error


def _read(path: Path) -> Content:
    try:
        with path.open("rb") as stream:
            return read_content(stream, path.name, keep=True)
    except OSError as error:
        raise BundleRefused(f"The file {path.name} of {path.parent.name} cannot be read: {error.strerror}.") from error


def _parse_labels(config: Json) -> tuple[str, ...]:
    labels = config.get("labels") if isinstance(config, Mapping) else None
    if not isinstance(labels, list) or not labels or len(set(map(str, labels))) != len(labels):
        raise Refused(f"{CONFIG} must have `labels`, a list of different intents.")
    if not all(isinstance(label, str) and label for label in labels):
        raise Refused(f"{CONFIG} must name each of its `labels` by a text that is not empty.")
    return tuple(str(label) for label in labels)
