"""Measures post-processing: effective values and the code that applies them (provenance.md section 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256

from inference_dna.canonical import Json
from inference_dna.digest import ALGORITHM
from inference_dna.files import FileEntry


def postprocess_section(
    *,
    kind: str,
    values: Mapping[str, Json],
    code: Mapping[str, Sequence[bytes]],
    files: Sequence[FileEntry] = (),
    environment: Mapping[str, Json] | None = None,
    evidence: Mapping[str, Json] | None = None,
) -> dict[str, Json]:
    """Write the postprocess section.

    Args:
        kind: `classification`, `generation`.
        values: What a request without parameters gets, after all merging, in the types the engine holds.
        code: Sources of the processors by their role, in the order they run; the class name proves nothing.
        files: Files the values came from; they are evidence, the values decide.
        environment: Digests of the variables that the code reads by name; None for code that was not looked through.
        evidence: Further facts for people.
    """
    return {
        "kind": kind,
        "values": dict(values),
        "code": {
            role: [ALGORITHM + sha256(source).hexdigest() for source in sources] for role, sources in code.items()
        },
        **({} if environment is None else {"env": dict(environment)}),
        "evidence": {"files": [entry.document() for entry in files], **(evidence or {})},
    }


def embedded_section(code: Mapping[str, Sequence[FileEntry]], *, reads: Sequence[str] = ()) -> dict[str, Json]:
    """Write the section of post-processing that is compiled into the weights, such as a TorchScript archive.

    Args:
        code: Programs inside weight files, by file; their digests are in the weights too, here they have names.
        reads: Places where that code reads something from outside, one sentence each.
    """
    return {
        "kind": "embedded",
        "code": {name: [entry.document() for entry in members] for name, members in sorted(code.items())},
        "reads": list(reads),
        "evidence": {},
    }
