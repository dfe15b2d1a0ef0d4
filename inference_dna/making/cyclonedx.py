"""The manifest as a CycloneDX 1.6 bill of materials: the model, its files, packages, devices and libraries.

It is a view: it leaves out settings and probes, so nothing is verified by it. The manifest's digests are in properties.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from urllib.parse import quote
from uuid import UUID

from inference_dna.canonical import Json
from inference_dna.digest import hashed
from inference_dna.files import FileEntry
from inference_dna.manifest import Manifest, signed_bytes
from inference_dna.trust.verify import expected_files

SPEC_VERSION = "1.6"
_UNNAMED = "unnamed"


def bill_of_materials(manifest: Manifest) -> dict[str, Json]:
    """Write the view; the same manifest gives the same document.

    Raises:
        Refused: The manifest names one file twice with different contents.
    """
    files = expected_files(manifest)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": SPEC_VERSION,
        "serialNumber": f"urn:uuid:{_serial(manifest)}",
        "version": 1,
        "metadata": {"timestamp": manifest.created_at, "component": _model(manifest)},
        "components": [
            *(_file(files[name]) for name in sorted(files)),
            *_packages(manifest),
            *_hardware(manifest),
        ],
    }


def _serial(manifest: Manifest) -> UUID:
    """A UUID of version 8, made of the signed bytes: one manifest, one serial number."""
    number = int(hashed("cyclonedx", signed_bytes(manifest.document))[:32], 16)
    number &= ~(0xF << 76) & ~(0x3 << 62)
    return UUID(int=number | 8 << 76 | 2 << 62)


def _model(manifest: Manifest) -> dict[str, Json]:
    subject = manifest.subject
    named: dict[str, Json] = {"name": _UNNAMED} if subject is None else {"name": subject.model_id}
    if subject is not None:
        named["version"] = subject.version
    return {"type": "machine-learning-model", "bom-ref": "model", **named, "properties": _properties(manifest)}


def _properties(manifest: Manifest) -> list[Json]:
    facts = {f"digest:{name}": f"sha256:{digest}" for name, digest in manifest.digests.items()}
    facts["assurance"] = manifest.assurance.value
    if manifest.dna is not None:
        facts["dna"] = manifest.dna
    return [{"name": f"inference-dna:{name}", "value": value} for name, value in facts.items()]


def _file(entry: FileEntry) -> dict[str, Json]:
    return {
        "type": "file",
        "bom-ref": f"file:{entry.name}",
        "name": entry.name,
        "hashes": [{"alg": "SHA-256", "content": entry.sha256}],
        "properties": [{"name": "inference-dna:size", "value": str(entry.size)}],
    }


def _packages(manifest: Manifest) -> Iterator[dict[str, Json]]:
    for name, version in _texts(_members(manifest.genome.get("framework")).get("packages")):
        yield {
            "type": "library",
            "bom-ref": f"package:{name}",
            "name": name,
            "version": version,
            "purl": f"pkg:pypi/{_pypi_name(name)}@{quote(version, safe='')}",
        }


def _pypi_name(name: str) -> str:
    return quote(name.lower().replace("_", "-"), safe="")


def _hardware(manifest: Manifest) -> Iterator[dict[str, Json]]:
    hardware = _members(manifest.genome.get("hardware"))
    devices = hardware.get("accelerators")
    for place, device in enumerate(devices if isinstance(devices, list | tuple) else ()):
        name = _members(device).get("name")
        if isinstance(name, str):
            yield {"type": "device", "bom-ref": f"device:{place}", "name": name}
    own = {name: hardware.get(name) for name in ("cuda", "cudnn")}
    for name, version in (*_texts(own), *_texts(hardware.get("libraries"))):
        yield {"type": "library", "bom-ref": f"library:{name}", "name": name, "version": version}


def _texts(value: Json) -> list[tuple[str, str]]:
    return [(name, text) for name, text in sorted(_members(value).items()) if isinstance(text, str)]


def _members(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, Mapping) else {}
