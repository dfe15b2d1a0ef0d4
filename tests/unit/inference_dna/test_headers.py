from __future__ import annotations

from inference_dna import headers


def test_the_names_of_dna_md_section_6() -> None:
    sent = [headers.DNA, headers.DIGEST, headers.INPUT_HASH, headers.MODEL_ID, headers.MODEL_VERSION]
    documented = ["X-Inference-DNA", "X-Inference-Digest", "X-Inference-Input-Hash", "X-Model-Id", "X-Model-Version"]

    assert sent == [name.lower() for name in documented]
    assert [headers.ASSURANCE, headers.FORMAT] == ["x-inference-assurance", "x-inference-format"]


def test_the_version_byte_stands_at_offset_14_of_every_hashed_text() -> None:
    assert headers.FORMAT_NAME[14] == "1"
