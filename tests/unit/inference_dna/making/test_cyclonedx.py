from __future__ import annotations

from typing import Any
from uuid import UUID

from inference_dna.making.cyclonedx import bill_of_materials
from tests.support.manifests import FILES, artifact_of, entry, genome_of, manifest_of, with_value


def components(kind: str, document: Any) -> list[Any]:
    return [component for component in document["components"] if component["type"] == kind]


def test_the_model_is_the_subject() -> None:
    document: Any = bill_of_materials(manifest_of())
    model = document["metadata"]["component"]
    properties = {each["name"]: each["value"] for each in model["properties"]}

    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.6")
    assert (model["type"], model["name"], model["version"]) == ("machine-learning-model", "bert-base-chinese", "v2.4.0")
    assert properties["inference-dna:dna"] == manifest_of().dna
    assert properties["inference-dna:digest:runtime"] == f"sha256:{manifest_of().digests['runtime']}"
    assert document["metadata"]["timestamp"] == "2025-01-31T12:00:00Z"


def test_files_packages_devices_and_libraries_are_components() -> None:
    document = bill_of_materials(manifest_of())

    assert {file["name"]: file["hashes"][0]["content"] for file in components("file", document)} == {
        name: entry(name, FILES[name])["sha256"] for name in FILES if name != "README.md"
    }
    assert [device["name"] for device in components("device", document)] == ["NVIDIA A100-SXM4-40GB"]
    libraries = {library["name"]: library["version"] for library in components("library", document)}
    assert libraries == {
        "torch": "2.2.0+cu121",
        "transformers": "4.36.2",
        "cuda": "12.1",
        "cudnn": "8.9.2",
        "cublas": "12.1.3.1",
    }


def test_the_local_part_of_a_version_is_escaped_in_the_package_url() -> None:
    libraries = components("library", bill_of_materials(manifest_of()))

    assert libraries[0]["purl"] == "pkg:pypi/torch@2.2.0%2Bcu121"


def test_references_are_unique() -> None:
    document: Any = bill_of_materials(manifest_of())
    references = [component["bom-ref"] for component in document["components"]]

    assert len(references) == len(set(references))


def test_the_serial_number_follows_from_the_manifest() -> None:
    one, again = bill_of_materials(manifest_of()), bill_of_materials(manifest_of())
    other = bill_of_materials(manifest_of(with_value(genome_of(), "hardware.cuda", "12.2")))
    serial = UUID(str(one["serialNumber"]))

    assert one == again
    assert one["serialNumber"] != other["serialNumber"]
    assert serial.version == 8
    assert serial.variant == "specified in RFC 4122"


def test_an_unnamed_artifact_has_neither_version_nor_stack() -> None:
    document: Any = bill_of_materials(manifest_of(artifact_of(genome_of()), subject=None))

    assert document["metadata"]["component"]["name"] == "unnamed"
    assert "version" not in document["metadata"]["component"]
    assert {component["type"] for component in document["components"]} == {"file"}
