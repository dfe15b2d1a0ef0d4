from __future__ import annotations

from hashlib import sha256
from typing import Any

import pytest

from inference_dna.files import FileEntry
from inference_dna.genome import section_digest
from inference_dna.measure.postprocess import embedded_section, postprocess_section

GIVEN: dict[str, Any] = {
    "kind": "classification",
    "values": {"threshold": 0.5},
    "code": {"labels": [b"def top(scores): ..."]},
    "files": [FileEntry("postprocess.json", 2, sha256(b"{}").hexdigest())],
    "evidence": {"requested": {"threshold": "0.5"}},
}


def test_sources_stand_in_the_section_as_digests() -> None:
    section = postprocess_section(**GIVEN)

    assert section["code"] == {"labels": [f"sha256:{sha256(b'def top(scores): ...').hexdigest()}"]}
    assert section["evidence"] == {"files": [GIVEN["files"][0].document()], "requested": {"threshold": "0.5"}}


@pytest.mark.parametrize(
    ("member", "value", "moves"),
    [
        ("values", {"threshold": 0.51}, True),
        ("values", {"threshold": 1}, True),
        ("code", {"labels": [b"def top(scores): return None"]}, True),
        ("kind", "generation", True),
        ("environment", {}, True),
        ("environment", {"TEMPERATURE": f"sha256:{'0' * 64}"}, True),
        ("files", [], False),
        ("evidence", None, False),
    ],
)
def test_effective_values_and_code_decide(member: str, value: Any, moves: bool) -> None:
    before = section_digest("postprocess", postprocess_section(**GIVEN))
    after = section_digest("postprocess", postprocess_section(**(GIVEN | {member: value})))

    assert (before != after) is moves


def test_post_processing_inside_the_artifact_is_named_by_its_code() -> None:
    code = {"generator_v1.0.0.ts": (FileEntry("code/generator.py", 3, sha256(b"abc").hexdigest()),)}
    moved = {"generator_v1.0.0.ts": (FileEntry("code/generator.py", 3, sha256(b"abd").hexdigest()),)}

    section = embedded_section(code)

    assert section["kind"] == "embedded"
    digests = {section_digest("postprocess", embedded_section(each)) for each in (code, moved, {})}
    assert len(digests) == 3
    assert section_digest("postprocess", embedded_section(code, reads=["x"])) not in digests
