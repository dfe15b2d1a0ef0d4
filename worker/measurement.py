"""Measures the worker: what its bundle is and what it runs on (dna.md section 1)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from inference_dna.canonical import Json, Refused
from inference_dna.genome import Genome, genome
from inference_dna.headers import FORMAT_NAME
from inference_dna.measure.folder import weights_section
from inference_dna.measure.framework import framework_section, read_package
from inference_dna.measure.hardware import cpu_hardware
from inference_dna.measure.postprocess import postprocess_section
from worker import ranking
from worker.bundle import Bundle, BundleRefused, read_bundle
from worker.engine import Engine, load_engine

_PACKAGES = ("numpy", "onnxruntime", "tokenizers")


def measure(bundle: Bundle, engine: Engine, environ: Mapping[str, str]) -> Genome:
    """Measure all five sections of the process that calls.

    Args:
        bundle: What was read and hashed.
        engine: What was loaded from those very bytes.
        environ: The environment of this process.

    Raises:
        Refused: A fact could not be read; the message names it.
    """
    framework = framework_section(
        [read_package(name) for name in _PACKAGES],
        engine=engine.classifier.engine(),
        environ=environ,
        flags=engine.classifier.flags(),
        parallel=engine.classifier.parallel(),
        deterministic=engine.classifier.deterministic(),
    )
    return genome({**artifact(bundle, engine), "framework": framework, "hardware": cpu_hardware()})


def measure_bundle(root: Path) -> dict[str, Json]:
    """Load a bundle and measure all of it, for `dna manifest --engine worker.measurement:measure_bundle`.

    Raises:
        Refused: The bundle cannot be served, or a fact could not be read.
    """
    try:
        bundle = read_bundle(root)
        return dict(measure(bundle, load_engine(bundle), os.environ).document)
    except BundleRefused as error:
        raise Refused(str(error)) from error


def artifact(bundle: Bundle, engine: Engine) -> dict[str, Json]:
    """Measure what travels with the bundle: a genome without framework and hardware, as a manifest holds it.

    Raises:
        Refused: A fact could not be read; the message names it.
    """
    return {
        "format": FORMAT_NAME,
        "bind": [],
        "weights": weights_section(bundle.folder, format_name="onnx", load=engine.classifier.loaded_as()),
        "tokenizer": engine.tokenizer.section(bundle.folder.tokenizer),
        "postprocess": postprocess_section(
            kind="classification",
            values=engine.postprocess.document(),
            code={"processors": [Path(ranking.__file__).read_bytes()]},
            files=[bundle.postprocess_file],
        ),
    }
