"""The manifest: a genome with its digests and signatures, a version's birth certificate (dna.md section 8).

Who signed it is judged elsewhere; this file says what is signed, and that the document agrees with itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from inference_dna.assurance import Assurance
from inference_dna.canonical import Json, Refused, canonical, parse_json
from inference_dna.digest import ALGORITHM, hashed
from inference_dna.genome import (
    ARTIFACT_SECTIONS,
    SECTIONS,
    STACK_SECTIONS,
    artifact_digest,
    genome,
    parse_bind,
    section_digest,
)
from inference_dna.headers import FORMAT_NAME

KIND = "manifest"
UNMEASURED = tuple(sorted(STACK_SECTIONS))
"""What `--artifact-only` leaves out: a build machine is seldom the serving stack."""

_REQUIRED = {"format", "kind", "subject", "created_at", "genome", "digests", "assurance"}
_OPTIONAL = {"dna", "unmeasured", "signatures"}
_COMPUTED = ("stack", "artifact", "runtime")


@dataclass(frozen=True, slots=True)
class Subject:
    """What the manifest is of; the version is written with `v`."""

    model_id: str
    version: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """A manifest that was read and agrees with itself.

    `subject` is None where the model could not be named: such a manifest makes no contract. `digests` are bare hex;
    with `unmeasured` sections there is no `stack`, no `runtime` and no `dna`.
    """

    document: Mapping[str, Json]
    subject: Subject | None
    created_at: str
    genome: Mapping[str, Json]
    digests: Mapping[str, str]
    dna: str | None
    assurance: Assurance
    unmeasured: tuple[str, ...]
    signatures: tuple[Mapping[str, Json], ...]


def signed_bytes(document: Mapping[str, Json]) -> bytes:
    """What is signed, by Ed25519 and GPG alike: the format's line and `C` of the document without its signatures.

    Raises:
        Refused: The document has no canonical form.
    """
    unsigned = {name: value for name, value in document.items() if name != "signatures"}
    return f"{FORMAT_NAME}/{KIND}\n{canonical(unsigned)}".encode()


def key_id(public_key: bytes) -> str:
    """The `kid` of a raw public key: the first 16 hex of `H("key", public key)`."""
    return hashed("key", public_key)[:16]


def build_manifest(
    genome_document: Mapping[str, Json], *, subject: Subject | None, created_at: str, assurance: Assurance
) -> dict[str, Json]:
    """Write the document of a measured genome, unsigned.

    Args:
        genome_document: The genome; without framework and hardware the manifest is of the artifact alone.
        subject: None where the model cannot be named.
        created_at: RFC 3339 in UTC, `2025-01-31T12:00:00Z`.
        assurance: How the weights were measured.

    Raises:
        Refused: The genome breaks a rule of dna.md section 1, or misses only one of framework and hardware.
    """
    unmeasured = tuple(name for name in UNMEASURED if name not in genome_document)
    digests, dna = _digests(genome_document, unmeasured)
    document: dict[str, Json] = {
        "format": FORMAT_NAME,
        "kind": KIND,
        "subject": None if subject is None else {"model_id": subject.model_id, "version": subject.version},
        "created_at": created_at,
        "genome": genome_document,
        "digests": _prefixed(digests),
        "assurance": assurance.value,
        "signatures": [],
    }
    if unmeasured:
        return document | {"unmeasured": list(unmeasured)}
    return document | {"dna": dna}


def parse_manifest(text: str | bytes) -> Manifest:
    """Read a manifest.

    Raises:
        Refused: The text is no strict JSON, a member is missing, unknown or of the wrong form, or digests or DNA do not
            follow from the genome.
    """
    document = _parse_document(text)
    unmeasured = _parse_unmeasured(document)
    measured = document["genome"]
    if not isinstance(measured, Mapping):
        raise Refused("The manifest's genome must be an object.")
    digests, dna = _digests(measured, unmeasured)
    if document["digests"] != _prefixed(digests):
        raise Refused("The manifest's digests do not follow from its genome.")
    if document.get("dna") != dna:
        raise Refused("The manifest's DNA does not follow from its genome.")
    return Manifest(
        document=document,
        subject=_parse_subject(document["subject"]),
        created_at=_text(document, "created_at"),
        genome=measured,
        digests=digests,
        dna=dna,
        assurance=_parse_assurance(document),
        unmeasured=unmeasured,
        signatures=_parse_signatures(document.get("signatures", [])),
    )


def _digests(genome_document: Mapping[str, Json], unmeasured: Sequence[str]) -> tuple[dict[str, str], str | None]:
    if unmeasured:
        return _artifact_digests(genome_document), None
    whole = genome(genome_document).digests
    return {name: getattr(whole, name) for name in (*SECTIONS, *_COMPUTED)}, whole.dna()


def _artifact_digests(genome_document: Mapping[str, Json]) -> dict[str, str]:
    if genome_document.keys() - {"bind"} != {"format", *ARTIFACT_SECTIONS}:
        raise Refused(f"A genome of the artifact alone has the sections {', '.join(ARTIFACT_SECTIONS)} and no other.")
    if genome_document["format"] != FORMAT_NAME:
        raise Refused(f"The format {genome_document['format']!a} is not known; this reader knows {FORMAT_NAME}.")
    bind = parse_bind(genome_document.get("bind", []))
    digests = {name: section_digest(name, genome_document[name], bind) for name in ARTIFACT_SECTIONS}
    return digests | {"artifact": artifact_digest(digests)}


def _prefixed(digests: Mapping[str, str]) -> dict[str, Json]:
    return {name: ALGORITHM + digest for name, digest in digests.items()}


def _parse_document(text: str | bytes) -> Mapping[str, Json]:
    document = parse_json(text)
    if not isinstance(document, Mapping):
        raise Refused("A manifest is a JSON object.")
    if document.get("format") != FORMAT_NAME or document.get("kind") != KIND:
        raise Refused(f"This is no manifest of the format {FORMAT_NAME}.")
    missing, unknown = _REQUIRED - document.keys(), document.keys() - _REQUIRED - _OPTIONAL
    if missing or unknown:
        raise Refused(f"A manifest lacks {sorted(missing)} or has unknown members {sorted(unknown)}.")
    return document


def _parse_unmeasured(document: Mapping[str, Json]) -> tuple[str, ...]:
    value = document.get("unmeasured", [])
    if value not in ([], list(UNMEASURED)):
        raise Refused(f"`unmeasured` must name {' and '.join(UNMEASURED)}, or nothing.")
    return tuple(cast("list[str]", value))


def _parse_subject(value: Json) -> Subject | None:
    if value is None:
        return None
    if not isinstance(value, Mapping) or value.keys() != {"model_id", "version"}:
        raise Refused("The manifest's subject must be null or have exactly model_id and version.")
    return Subject(_text(value, "model_id"), _text(value, "version"))


def _parse_assurance(document: Mapping[str, Json]) -> Assurance:
    level = _text(document, "assurance")
    try:
        return Assurance(level)
    except ValueError as error:
        raise Refused(f"The assurance must be one of {', '.join(Assurance)}.") from error


def _parse_signatures(value: Json) -> tuple[Mapping[str, Json], ...]:
    if not isinstance(value, list) or not all(isinstance(item, Mapping) for item in value):
        raise Refused("The manifest's signatures must be a list of objects.")
    return tuple(cast("list[Mapping[str, Json]]", value))


def _text(members: Mapping[str, Json], name: str) -> str:
    value = members[name]
    if not isinstance(value, str) or not value:
        raise Refused(f"The member `{name}` must be a text that is not empty.")
    return value
