"""The manifest as a file holds it, and what people are told about it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from inference_dna.canonical import Json
from inference_dna.digest import ALGORITHM
from inference_dna.genome import SECTIONS
from inference_dna.manifest import Manifest
from inference_dna.measure.pickles import noted_pickles, pickle_notes
from inference_dna.measure.unasked import AT_REST, EVIDENCE, unasked

_SHOWN = ("weights", "tokenizer", "postprocess", "framework", "hardware", "artifact", "stack", "runtime")


def manifest_text(document: Mapping[str, Json]) -> str:
    """Write a manifest for people to read; what is signed is its canonical form, so the layout is free."""
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def manifest_lines(manifest: Manifest, *, engine: str, written_to: Path) -> Iterator[str]:
    """Tell what was written, and what the manifest does not prove.

    Args:
        manifest: What was written.
        engine: Who measured it.
        written_to: Where it lies.
    """
    subject = manifest.subject
    yield f"written      {written_to}"
    yield f"of           {'no model by name' if subject is None else f'{subject.model_id} {subject.version}'}"
    yield f"measured by  {engine}, assurance {manifest.assurance.value}"
    yield from (f"{name:12} {ALGORITHM}{manifest.digests[name]}" for name in _SHOWN if name in manifest.digests)
    if manifest.dna is not None:
        yield f"dna          {manifest.dna}"
    if manifest.signatures:
        yield f"signed       {', '.join(str(entry.get('kid')) for entry in manifest.signatures)}"
    yield from (f"note         {note}" for note in _notes(manifest, engine))


def unmeasured_lines(manifest: Manifest) -> Iterator[str]:
    """Tell what was not measured, and why: no later comparison can say anything of it."""
    for section in SECTIONS:
        fact = unasked(manifest.genome, section)
        if fact is not None:
            why = _why(manifest.genome.get(section))
            yield f"not measured: {fact} ({section})" + (f", for {why}" if why else "")


def _why(section: Json) -> str | None:
    evidence = section.get("evidence") if isinstance(section, Mapping) else None
    why = evidence.get(EVIDENCE) if isinstance(evidence, Mapping) else None
    return why if isinstance(why, str) else None


def _notes(manifest: Manifest, engine: str) -> Iterator[str]:
    if manifest.subject is None:
        yield "it names no model and makes no contract; say --model-id, and --version unless the folder is called so"
    if engine == AT_REST and manifest.dna is not None:
        yield "no engine was loaded: no worker will have this DNA; measure with --engine where it is served"
    yield from pickle_notes(noted_pickles(manifest.genome.get("weights")))
    if not manifest.signatures:
        yield "it is not signed; see `dna sign`"
