"""The check of an answer's head: remembered by what does not depend on the input, never by what does."""

from __future__ import annotations

import json
from typing import Any

import pytest

from contracts.contract import Contract, parse_contract
from contracts.verdict import VerdictKind
from gateway.proxy.answer_head import AnswerHead, read_answer_head
from gateway.proxy.identity import AnswerJudge
from gateway.proxy.limits import Limits
from inference_dna.inputs import hash_tokens
from tests.support.stub_worker import digests_of

OURS, OTHER = digests_of("a"), digests_of("b")
HASH = hash_tokens([[1, 2, 3]])


def contract(**more: Any) -> Contract:
    accepted = {"dna": OURS.dna(), "digest": f"sha256:{OURS.runtime}"}
    return parse_contract(json.dumps({"model_id": "m", "version": "v1.0.0", "dna": [accepted]} | more))


def lines_of(stated: dict[str, str]) -> list[str]:
    return [f"X-Inference-{name.replace('_', '-')}: {value}" for name, value in stated.items()]


def read(status: int, lines: list[str]) -> AnswerHead:
    raw = "\r\n".join([f"HTTP/1.1 {status} X", *lines, "Content-Length: 0", ""]).encode()
    answer = read_answer_head(raw, Limits(), head_only=False)
    assert answer is not None
    return answer


def head(status: int = 200, **stated: str) -> AnswerHead:
    return read(status, lines_of(stated))


def honest(input_hash: str = "", **more: str) -> AnswerHead:
    stated = {"DNA": OURS.dna(input_hash), "Digest": f"sha256:{OURS.runtime}", "Assurance": "full-hash"}
    return head(200, **stated, **({"Input_Hash": input_hash} if input_hash else {}), **more)


def test_a_match_is_known_the_second_time_whatever_the_input() -> None:
    judge = AnswerJudge(contract())

    first, second, third = judge.check(honest()), judge.check(honest(HASH)), judge.check(honest())

    assert [answer.observation is None for answer in (first, second, third)] == [False, True, True]
    assert first.match is second.match is third.match
    assert {answer.verdict.reason for answer in (first, second, third)} == {"digest_equal"}
    assert second.stated.input_hash == HASH
    assert first.withheld is None


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        pytest.param(head(DNA=OTHER.dna(), Digest=f"sha256:{OTHER.runtime}"), "digest_differs", id="another-runtime"),
        pytest.param(head(DNA=OURS.dna(), Digest=f"sha256:{OTHER.runtime}"), "digest_differs", id="another-digest"),
        pytest.param(honest(Format="inference-dna/9"), "format_unknown", id="another-format"),
        pytest.param(head(DNA=OURS.dna()[:8] + "NOTHEX!!", Digest=f"sha256:{OURS.runtime}"), "dna_malformed", id="dna"),
        pytest.param(head(Digest=f"sha256:{OURS.runtime}"), "dna_missing", id="no-dna"),
    ],
)
def test_nothing_else_is_taken_for_what_is_known(answer: AnswerHead, reason: str) -> None:
    judge = AnswerJudge(contract())
    judge.check(honest())
    judge.check(honest(HASH))

    checked = judge.check(answer)

    assert (checked.withheld, checked.match) == (reason, None)
    assert checked.observation is not None


def test_a_strand_of_another_input_is_noted_each_time() -> None:
    judge = AnswerJudge(contract())
    judge.check(honest())
    wrong = head(DNA=OURS.dna(), Digest=f"sha256:{OURS.runtime}", Assurance="full-hash", Input_Hash=HASH)

    checked = [judge.check(wrong) for _ in range(3)]

    assert [answer.verdict.notes for answer in checked] == [("strand_differs",)] * 3
    assert [answer.match for answer in checked] == [None] * 3


def test_a_name_sent_twice_is_malformed() -> None:
    lines = lines_of({"DNA": OURS.dna(), "Digest": f"sha256:{OURS.runtime}", "Assurance": "full-hash"})
    once, twice = read(200, lines), read(200, [*lines, lines[0]])
    judge = AnswerJudge(contract())
    judge.check(once)

    assert judge.check(twice).withheld == "dna_malformed"


def test_a_name_sent_twice_that_says_nothing_of_identity_changes_nothing() -> None:
    judge = AnswerJudge(contract())
    lines = lines_of({"DNA": OURS.dna(), "Digest": f"sha256:{OURS.runtime}", "Assurance": "full-hash"})
    cookies = ["Set-Cookie: a=1", "Set-Cookie: b=2", "Date: now", "date: then"]

    first, second = judge.check(read(200, lines + cookies[:2])), judge.check(read(200, lines + cookies))

    assert [answer.verdict.kind for answer in (first, second)] == [VerdictKind.MATCH] * 2
    assert (first.match is None, second.match is None) == (False, True)


@pytest.mark.parametrize(
    ("answer", "withheld"),
    [
        pytest.param(head(500), None, id="says-nothing"),
        pytest.param(head(503, DNA=OURS.dna()), None, id="says-the-same"),
        pytest.param(head(500, DNA=OTHER.dna(), Digest=f"sha256:{OTHER.runtime}"), "digest_differs", id="another"),
    ],
)
def test_a_5xx_tells_nothing_of_identity_and_passes_none_on(answer: AnswerHead, withheld: str | None) -> None:
    judge = AnswerJudge(contract())
    judge.check(honest())

    checked = judge.check(answer)

    assert (checked.verdict.kind, checked.withheld) == (VerdictKind.ABSENT, withheld)


def test_observing_withholds_nothing() -> None:
    judge = AnswerJudge(contract(enforcement="observe"))

    checked = judge.check(head(DNA=OTHER.dna(), Digest=f"sha256:{OTHER.runtime}"))

    assert (checked.verdict.kind, checked.withheld) == (VerdictKind.MISMATCH, None)


def test_what_is_remembered_is_bounded() -> None:
    judge = AnswerJudge(contract())
    for number in range(1000):
        judge.check(honest(Nothing=str(number)))
        judge.check(head(DNA=OURS.dna(), Digest=f"sha256:{OURS.runtime}", Assurance=f"level-{number}"))

    assert len(judge._matches) <= 256
