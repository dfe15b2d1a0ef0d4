from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from inference_dna.canonical import Refused
from inference_dna.genome import genome
from inference_dna.golden import Golden, Parting, golden_of, parse_golden, parting, record, with_golden
from tests.support.manifests import genome_of, manifest_of

GOLDEN = Golden((1, 2), (3, 4, 5))


def test_a_golden_input_enters_no_digest_and_reads_back_from_the_manifest() -> None:
    with_it = with_golden(genome_of(), GOLDEN)

    assert genome(with_it).digests == genome(genome_of()).digests
    assert golden_of(manifest_of(with_it).genome) == GOLDEN
    assert golden_of(manifest_of().genome) is None


def test_a_section_without_evidence_can_have_one() -> None:
    assert golden_of(with_golden({"postprocess": {"kind": "none"}}, GOLDEN)) == GOLDEN


@pytest.mark.parametrize(
    ("answered", "expected"),
    [
        ([3, 4, 5], None),
        ([9, 4, 5], Parting(0, 3, 9)),
        ([3, 4, 6], Parting(2, 5, 6)),
        ([3, 4], Parting(2, 5, None)),
        ([3, 4, 5, 6], Parting(3, None, 6)),
    ],
)
def test_where_an_answer_parts(answered: Sequence[int], expected: Parting | None) -> None:
    assert parting(GOLDEN, answered) == expected


def test_a_parting_is_told_with_its_place() -> None:
    assert Parting(2, 5, None).sentence() == "token 2 is no token instead of 5"
    assert Parting(0, 3, 9).sentence() == "token 0 is 9 instead of 3"


def test_the_answer_may_be_given_or_made() -> None:
    assert parse_golden('{"input_ids": [1, 2], "output_ids": [3, 4, 5]}') == GOLDEN
    assert parse_golden('{"input_ids": [1, 2]}', lambda ids, most: [*ids, most]) == Golden((1, 2), (1, 2, 16))


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "{}",
        '{"input_ids": []}',
        '{"input_ids": [1.0], "output_ids": [1]}',
        '{"input_ids": [true], "output_ids": [1]}',
        '{"input_ids": [1], "output_ids": "1"}',
        '{"input_ids": [1], "text": "x"}',
        '{"input_ids": [1]}',
    ],
)
def test_golden_inputs_that_are_refused(text: str) -> None:
    with pytest.raises(Refused, match=r"golden|JSON"):
        parse_golden(text)


def test_an_answer_that_does_not_repeat_is_no_reference() -> None:
    answers = iter([[1], [2]])

    with pytest.raises(Refused, match="differently the second time"):
        record(lambda _ids, _most: next(answers), [1])
    with pytest.raises(Refused, match="with nothing"):
        record(lambda _ids, _most: [], [1])


@pytest.mark.parametrize("found", [7, {"input_ids": [1]}])
def test_a_golden_input_that_cannot_be_read_is_refused(found: object) -> None:
    document = json.loads(json.dumps({"postprocess": {"evidence": {"golden": found}}}))

    with pytest.raises(Refused):
        golden_of(document)
