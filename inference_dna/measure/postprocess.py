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
    evidence: Mapping[str, Json] | None = None,
) -> dict[str, Json]:
    """Write the postprocess section.

    Args:
        kind: `classification`, `generation`.
        values: What a request without parameters gets, after all merging, in the types the engine holds.
        code: Sources of the processors by their role, in the order they run; the class name proves nothing.
        files: Files the values came from; they are evidence, the values decide.
        evidence: Further facts for people.
    """
    return {
        "kind": kind,
        "values": dict(values),
        "code": {
            role: [ALGORITHM + sha256(source).hexdigest() for source in sources] for role, sources in code.items()
        },
        "evidence": {"files": [entry.document() for entry in files], **(evidence or {})},
    }
