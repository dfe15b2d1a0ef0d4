"""The genome document and every digest that follows from it (dna.md sections 1 and 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from inference_dna.canonical import Json, Refused, canonical, parse_json
from inference_dna.digest import ALGORITHM, hashed
from inference_dna.dna import strand
from inference_dna.files import files_digest, parse_files
from inference_dna.headers import FORMAT_NAME

ARTIFACT_SECTIONS = ("weights", "tokenizer", "postprocess")
STACK_SECTIONS = ("hardware", "framework")
SECTIONS = (*ARTIFACT_SECTIONS, "framework", "hardware")

_TOP_LEVEL = {"format", "bind", *SECTIONS}
_REQUIRED = {
    "weights": ("kind", "files"),
    "tokenizer": ("kind",),
    "postprocess": ("kind",),
    "framework": ("engine",),
    "hardware": ("accelerators",),
}


@dataclass(frozen=True, slots=True)
class GenomeDigests:
    """Section digests, the two segment digests and the runtime digest, each 64 bare hex."""

    weights: str
    tokenizer: str
    postprocess: str
    framework: str
    hardware: str
    stack: str
    artifact: str
    runtime: str

    def dna(self, input_hash: str = "") -> str:
        """The DNA of one answer, 16 hex.

        Args:
            input_hash: 64 bare hex, or the empty text where no input was hashed (`/healthz`, a listing).

        Raises:
            Refused: The input hash is anything else.
        """
        return self.stack[:4] + self.artifact[:4] + strand(self.runtime, input_hash)


@dataclass(frozen=True, slots=True)
class Genome:
    """A genome that was read and found good. `document` holds all of it, evidence included."""

    document: Mapping[str, Json]
    sections: Mapping[str, Mapping[str, Json]]
    bind: tuple[str, ...]
    digests: GenomeDigests

    @property
    def canonical(self) -> str:
        """The canonical genome, the text below the runtime digest: sections replaced by their bare digests."""
        return _canonical_genome(self.bind, {name: getattr(self.digests, name) for name in SECTIONS})


def parse_genome(text: str | bytes) -> Genome:
    """Read a genome document.

    Raises:
        Refused: The text is no strict JSON or the document breaks a rule of dna.md section 1.
    """
    document = parse_json(text)
    if not isinstance(document, Mapping):
        raise Refused("A genome is a JSON object.")
    _check_top_level(document)
    bind = parse_bind(document.get("bind", []))
    sections = {name: parse_section(name, document[name]) for name in SECTIONS}
    return Genome(document, sections, bind, _digests(sections, bind))


def genome(value: Mapping[str, Json]) -> Genome:
    """Take a genome made in process; later changes to the value do not reach it.

    Raises:
        Refused: The value has no canonical form or breaks a rule of dna.md section 1.
    """
    # The canonical text is read again: one path for both origins, and a private copy of every part.
    return parse_genome(canonical(value))


def section_digest(name: str, section: Json, bind: Sequence[str] = ()) -> str:
    """Compute the digest of one section, 64 bare hex.

    Args:
        name: One of the five sections.
        section: The section, evidence included.
        bind: Evidence that enters the digest, as `section.member`; that of other sections is left alone.

    Raises:
        Refused: The section or `bind` breaks a rule of dna.md sections 1 to 4.
    """
    return hashed(f"section/{name}", canonical(digested_form(name, section, bind)))


def digested_form(name: str, section: Json, bind: Sequence[str] = ()) -> dict[str, Json]:
    """Reduce a section to what its digest covers: no evidence, `files` as their digest, bound evidence as `bound`.

    Raises:
        Refused: As `section_digest`.
    """
    checked = parse_section(name, section)
    form = {member: value for member, value in checked.items() if member != "evidence"}
    if "files" in form:
        form["files"] = ALGORITHM + files_digest(parse_files(form["files"]))
    members = [entry.partition(".")[2] for entry in parse_bind(list(bind)) if entry.startswith(f"{name}.")]
    if members:
        form["bound"] = {member: _bound_value(name, checked, member) for member in members}
    return form


def artifact_digest(sections: Mapping[str, str]) -> str:
    """Compute the artifact digest from the bare digests of weights, tokenizer and postprocess."""
    return hashed("artifact", "".join([f"{sections[name]}\n" for name in ARTIFACT_SECTIONS]))


def stack_digest(sections: Mapping[str, str]) -> str:
    """Compute the stack digest from the bare digests of hardware and framework."""
    return hashed("stack", "".join([f"{sections[name]}\n" for name in STACK_SECTIONS]))


def parse_section(name: str, value: Json) -> Mapping[str, Json]:
    """Check the form of one section (dna.md section 1).

    Raises:
        Refused: Unknown section, no object, nothing but evidence, a required member missing, `bound` present.
    """
    if name not in _REQUIRED:
        raise Refused(f"There is no section {name!a}; the five are {', '.join(SECTIONS)}.")
    if not isinstance(value, Mapping):
        raise Refused(f"The section {name} must be an object.")
    if "bound" in value:
        raise Refused(f"The member `bound` of {name} is reserved; name evidence in `bind` instead.")
    if not value.keys() - {"evidence"}:
        raise Refused(f'The section {name} has nothing but evidence; say {{"kind": "none"}} where there is none.')
    for member in _REQUIRED[name]:
        if value.get(member) is None:
            raise Refused(f"The section {name} needs the member `{member}`.")
    if name == "hardware" and not isinstance(value["accelerators"], list | tuple):
        raise Refused("`hardware.accelerators` must be a list, empty without an accelerator.")
    return value


def parse_bind(value: Json) -> tuple[str, ...]:
    """Check a `bind` list: `section.member`, sorted, each once.

    Raises:
        Refused: The value is anything else.
    """
    if not isinstance(value, list | tuple):
        raise Refused("`bind` must be a list of `section.member`.")
    entries = tuple(_parse_bind_entry(entry) for entry in value)
    if list(entries) != sorted(set(entries)):
        raise Refused("`bind` must be sorted and name each member once.")
    return entries


def _parse_bind_entry(entry: Json) -> str:
    if not isinstance(entry, str):
        raise Refused("An entry of `bind` is text, `section.member`.")
    section, _, member = entry.partition(".")
    if section not in _REQUIRED or not member:
        raise Refused(f"The entry {entry!a} of `bind` names no member of a section; write `section.member`.")
    return entry


def _bound_value(name: str, section: Mapping[str, Json], member: str) -> Json:
    evidence = section.get("evidence")
    value = evidence.get(member) if isinstance(evidence, Mapping) else None
    if value is None:
        raise Refused(f"`bind` asks for {name}.{member}, which was not measured.")
    return value


def _check_top_level(document: Mapping[str, Json]) -> None:
    if document.get("format") != FORMAT_NAME:
        raise Refused(f"The format {document.get('format')!a} is not known; this reader knows {FORMAT_NAME}.")
    for name in SECTIONS:
        if name not in document:
            raise Refused(f"The genome has no section {name}.")
    for name in document:
        if name not in _TOP_LEVEL:
            raise Refused(f"The genome has an unknown member {name!a} at the top.")


def _digests(sections: Mapping[str, Mapping[str, Json]], bind: tuple[str, ...]) -> GenomeDigests:
    by_name = {name: section_digest(name, section, bind) for name, section in sections.items()}
    return GenomeDigests(
        **by_name,
        stack=stack_digest(by_name),
        artifact=artifact_digest(by_name),
        runtime=hashed("runtime", _canonical_genome(bind, by_name)),
    )


def _canonical_genome(bind: tuple[str, ...], sections: Mapping[str, str]) -> str:
    return canonical({"format": FORMAT_NAME, "bind": bind, **sections})
