"""Small genomes and manifests for tests, and folders that they describe."""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import deepcopy
from hashlib import sha256
from pathlib import Path
from typing import Any

from inference_dna.assurance import Assurance
from inference_dna.canonical import canonical
from inference_dna.manifest import Manifest, Subject, build_manifest, parse_manifest
from inference_dna.measure.places import Place, place_of

SUBJECT = Subject("bert-base-chinese", "v2.4.0")
CREATED_AT = "2025-01-31T12:00:00Z"
FILES: Mapping[str, bytes] = {
    "config.json": b'{"model_type": "bert"}',
    "model.bin.weights": b"weights of the model",
    "tokenizer.json": b'{"vocab": {}}',
    "generation_config.json": b'{"temperature": 0.7}',
    "README.md": b"read me",
}
PROBE = {"set": "probe/1", "texts": "1" * 64, "ids": "2" * 64, "chat": None}


def entry(name: str, content: bytes) -> dict[str, Any]:
    return {"name": name, "size": len(content), "sha256": sha256(content).hexdigest()}


def genome_of(files: Mapping[str, bytes] = FILES) -> dict[str, Any]:
    """A complete genome whose artifact lists these files, each in its place."""
    placed: dict[Place, list[dict[str, Any]]] = {place: [] for place in Place}
    for name, content in files.items():
        placed[place_of(name)].append(entry(name, content))
    return {
        "format": "inference-dna/1",
        "bind": [],
        "weights": {
            "kind": "folder",
            "format": "safetensors",
            "rule": "files/1",
            "files": placed[Place.WEIGHTS],
            "exclude": [],
            "adapters": [],
            "load": {"dtype": "float16", "quantization": None},
            "evidence": {"ignored": [each["name"] for each in placed[Place.IGNORED]]},
        },
        "tokenizer": {
            "kind": "huggingface-fast",
            "rule": "files/1",
            "files": placed[Place.TOKENIZER],
            "probe": dict(PROBE),
            "settings": {"add_special_tokens": True, "max_length": 512},
            "evidence": {"library": "tokenizers 0.15.0"},
        },
        "postprocess": {
            "kind": "generation",
            "values": {"temperature": 0.7, "top_k": 50, "do_sample": True},
            "code": {"processors": ["sha256:" + "3" * 64]},
            "evidence": {"files": placed[Place.POSTPROCESS]},
        },
        "framework": {
            "engine": {"name": "transformers", "version": "4.36.2", "commit": None},
            "python": "3.11",
            "packages": {"torch": "2.2.0+cu121", "transformers": "4.36.2"},
            "flags": {"attention": "sdpa"},
            "env_rule": "env/1",
            "env": {"OMP_NUM_THREADS": "4"},
            "evidence": {"python_full": "3.11.7"},
        },
        "hardware": {
            "accelerators": [{"name": "NVIDIA A100-SXM4-40GB", "count": 1, "compute_capability": "8.0"}],
            "cuda": "12.1",
            "cudnn": "8.9.2",
            "driver_branch": "535",
            "libraries": {"cublas": "12.1.3.1"},
            "cpu": None,
            "evidence": {"driver_version": "535.129.03"},
        },
    }


def with_value(genome: Mapping[str, Any], path: str, value: Any) -> dict[str, Any]:
    """The genome with one member, `postprocess.values.temperature`, set; `...` removes it."""
    changed = deepcopy(dict(genome))
    *above, last = path.split(".")
    members = changed
    for name in above:
        members = members[name]
    if value is ...:
        del members[last]
    else:
        members[last] = value
    return changed


def manifest_document(genome: Mapping[str, Any] | None = None, subject: Subject | None = SUBJECT) -> dict[str, Any]:
    document = build_manifest(
        genome_of() if genome is None else genome,
        subject=subject,
        created_at=CREATED_AT,
        assurance=Assurance.FULL_HASH,
    )
    reread: dict[str, Any] = json.loads(json.dumps(document))
    return reread


def manifest_of(genome: Mapping[str, Any] | None = None, subject: Subject | None = SUBJECT) -> Manifest:
    return parse_manifest(canonical(manifest_document(genome, subject)))


def artifact_of(genome: Mapping[str, Any]) -> dict[str, Any]:
    """The genome as a build machine measures it: without framework and hardware."""
    return {name: value for name, value in genome.items() if name not in ("framework", "hardware")}


def write_folder(root: Path, files: Mapping[str, bytes] = FILES) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return root
