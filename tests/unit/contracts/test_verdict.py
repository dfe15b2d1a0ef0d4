import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.contract import Contract, parse_contract
from contracts.faults import DocumentRefused
from contracts.verdict import Verdict, VerdictKind, judge
from inference_dna.dna import strand
from inference_dna.observation import NO_ANSWER, Observation

VECTORS = Path(__file__).parents[2] / "vectors" / "dna_vectors.json"
VERDICTS = [vector for vector in json.loads(VECTORS.read_text("utf-8"))["vectors"] if vector["op"] == "verdict"]

RUNTIME = "bc261cf54243739820d50076c61e398ddc56b9da0a9df74aed6b84bef8da7459"
INPUT = "2e67a18651ba3bd027223c28a82dbe1524caf7d5cb490771069a9b9fb1b8ee3f"
DIGEST = f"sha256:{RUNTIME}"
OTHER_DIGEST = "sha256:" + "4" * 64
DNA = "7cd8a0c1aa6a64d4"
ENTRY = {"dna": DNA, "digest": DIGEST}
GPU = {"hardware_requirements": {"gpu": ["A100"]}}
A100 = {"accelerators": [{"name": "NVIDIA A100-SXM4-40GB", "count": 1}]}
A10 = {"accelerators": [{"name": "NVIDIA A10", "count": 1}]}


def contract(**members: Any) -> Contract:
    return parse_contract(json.dumps({"model_id": "m", "version": "v2.4.0", "dna": [ENTRY], **members}))


def verdict(contract_members: dict[str, Any] | None = None, **seen: Any) -> Verdict:
    return judge(contract(**(contract_members or {})), Observation(**{"http": 200, **seen}))


@pytest.mark.parametrize("vector", [pytest.param(each, id=each["id"]) for each in VERDICTS if "out" in each])
def test_every_vector(vector: dict[str, Any]) -> None:
    judged = judge(parse_contract(json.dumps(vector["in"]["contract"])), Observation(**vector["in"]["observation"]))

    assert {
        "verdict": judged.kind,
        "reason": judged.reason,
        "assurance": judged.assurance,
        "distance": judged.distance,
        "notes": list(judged.notes),
    } == vector["out"]


def test_the_vector_whose_contract_is_refused() -> None:
    refused = [vector for vector in VERDICTS if "error" in vector]
    assert [vector["error"] for vector in refused] == ["entry_inconsistent"]

    with pytest.raises(DocumentRefused, match=r"/dna/0/dna: .* does not belong to the digest"):
        parse_contract(json.dumps(refused[0]["in"]["contract"]))


def test_the_vectors_are_all_there() -> None:
    assert len(VERDICTS) == 34


@pytest.mark.parametrize(
    ("seen", "kind", "reason"),
    [
        pytest.param({"http": None}, "absent", "no_answer", id="1"),
        pytest.param({"http": None, "status": "loading"}, "absent", "no_answer", id="1-before-2"),
        pytest.param({"status": "loading"}, "incomparable", "not_ready", id="2"),
        pytest.param({"status": ""}, "incomparable", "not_ready", id="2-an-empty-status-is-not-ok"),
        pytest.param({"status": "OK"}, "incomparable", "not_ready", id="2-ok-is-written-small"),
        pytest.param({"http": 500, "status": "loading"}, "incomparable", "not_ready", id="2-before-3"),
        pytest.param({"http": 500, "dna": "nonsense"}, "absent", "server_error", id="3"),
        pytest.param({"http": 503, "status": "ok", "dna": DNA}, "absent", "server_error", id="3-whatever-it-carries"),
        pytest.param({"http": 599, "model_id": "x"}, "absent", "server_error", id="3-before-6"),
        pytest.param(
            {"format": "inference-dna/2", "dna": "nonsense"}, "incomparable", "format_unknown", id="4-before-5"
        ),
        pytest.param({"format": ""}, "incomparable", "format_unknown", id="4-an-empty-format-is-not-absent"),
        pytest.param({"dna": DNA, "digest": "dna2-sha256:ab12"}, "incomparable", "format_unknown", id="4-another-name"),
        pytest.param({"digest": "md5:ab12"}, "incomparable", "format_unknown", id="4-before-a-missing-dna"),
        pytest.param({"dna": DNA, "digest": ""}, "mismatch", "digest_malformed", id="5-empty-digest"),
        pytest.param({"dna": DNA, "digest": "sha256:AB" + "0" * 62}, "mismatch", "digest_malformed", id="5-capitals"),
        pytest.param({"dna": DNA, "digest": RUNTIME}, "mismatch", "digest_malformed", id="5-without-name"),
        pytest.param({"dna": DNA, "digest": f"{DIGEST}, {DIGEST}"}, "mismatch", "digest_malformed", id="5-sent-twice"),
        pytest.param(
            {"dna": DNA, "digest": "SHA256:" + "0" * 64}, "mismatch", "digest_malformed", id="5-name-in-capitals"
        ),
        pytest.param({"dna": "x", "digest": "y"}, "mismatch", "digest_malformed", id="5-digest-first"),
        pytest.param({"dna": "", "digest": DIGEST}, "mismatch", "dna_malformed", id="5-empty-dna"),
        pytest.param({"dna": DNA.upper(), "digest": DIGEST}, "mismatch", "dna_malformed", id="5-dna-in-capitals"),
        pytest.param({"dna": DNA[:8], "digest": DIGEST}, "mismatch", "dna_malformed", id="5-half-a-dna"),
        pytest.param({"dna": f"{DNA}, {DNA}", "digest": DIGEST}, "mismatch", "dna_malformed", id="5-dna-sent-twice"),
        pytest.param(
            {"dna": "x", "dna_required": False}, "mismatch", "dna_malformed", id="5-malformed-though-not-required"
        ),
        pytest.param({"digest": DIGEST}, "mismatch", "dna_missing", id="5-missing"),
        pytest.param({}, "mismatch", "dna_missing", id="5-everything-missing"),
        pytest.param({"dna": "x", "model_id": "y"}, "mismatch", "dna_malformed", id="5-before-6"),
        pytest.param({"dna": DNA, "digest": DIGEST, "model_id": ""}, "mismatch", "other_model", id="6-empty-model"),
        pytest.param(
            {"dna": DNA, "digest": DIGEST, "model_id": "m, m"}, "mismatch", "other_model", id="6-model-sent-twice"
        ),
        pytest.param(
            {"dna": DNA, "digest": DIGEST, "model_id": "x", "version": "y"},
            "mismatch",
            "other_model",
            id="6-model-first",
        ),
        pytest.param(
            {"dna": DNA, "digest": DIGEST, "version": "2.4"}, "mismatch", "other_version", id="6-version-unreadable"
        ),
        pytest.param({"dna": DNA, "digest": DIGEST, "version": "v2.4.0+b"}, "mismatch", "other_version", id="6-build"),
        pytest.param(
            {"dna": DNA, "digest": DIGEST, "version": "V2.4.0"}, "mismatch", "other_version", id="6-capital-v"
        ),
        pytest.param(
            {"dna": DNA, "digest": DIGEST, "version": "2.4.0", "model_id": "m"}, "match", "digest_equal", id="8"
        ),
        pytest.param(
            {"http": 204, "status": "ok", "dna": DNA, "digest": DIGEST}, "match", "digest_equal", id="8-probe"
        ),
        pytest.param({"http": 499, "dna": DNA, "digest": DIGEST}, "match", "digest_equal", id="8-a-4xx-is-an-answer"),
        pytest.param({"dna": DNA, "digest": OTHER_DIGEST}, "mismatch", "digest_differs", id="9"),
        pytest.param({"digest": OTHER_DIGEST, "dna_required": False}, "mismatch", "digest_differs", id="9-without-dna"),
        pytest.param({"dna_required": False}, "absent", "nothing_stated", id="10"),
        pytest.param({"dna": DNA}, "match", "label_equal", id="11"),
        pytest.param({"dna": DNA, "dna_required": False}, "match", "label_equal", id="11-though-not-required"),
        pytest.param({"dna": "ffffffff" + DNA[8:]}, "mismatch", "label_far", id="12"),
        pytest.param({"dna": "7cd8a0ff" + DNA[8:]}, "suspect", "label_near", id="13"),
    ],
)
def test_the_first_row_that_fits_decides(seen: dict[str, Any], kind: str, reason: str) -> None:
    judged = verdict(**seen)

    assert (judged.kind, judged.reason) == (kind, reason)


def test_7_a_contract_that_accepts_nothing_compares_with_nothing() -> None:
    judged = verdict({"dna": []}, dna=DNA, digest=DIGEST)

    assert judged == Verdict(VerdictKind.INCOMPARABLE, "nothing_accepted")
    assert verdict({"dna": []}, dna=DNA, version="v1.0.0").reason == "other_version"


def test_9_entries_without_a_digest_do_not_save_a_wrong_digest() -> None:
    members = {"dna": [{"dna": DNA}, {"digest": DIGEST}]}

    assert verdict(members, dna=DNA, digest=OTHER_DIGEST).reason == "digest_differs"
    assert verdict(members, dna=DNA).reason == "label_equal"


def test_10_a_digest_that_cannot_be_compared_states_nothing() -> None:
    judged = verdict({"dna": [{"dna": DNA}]}, digest=DIGEST, dna_required=False)

    assert judged == Verdict(VerdictKind.ABSENT, "nothing_stated")


def test_a_label_and_a_contract_of_digests_have_nothing_in_common() -> None:
    judged = verdict({"dna": [{"digest": DIGEST}]}, dna=DNA)

    assert judged == Verdict(VerdictKind.INCOMPARABLE, "nothing_accepted")


@pytest.mark.parametrize(
    ("first8", "limit", "kind", "distance"),
    [
        ("7cd8a0c1", 0, "match", 0),
        ("7cd8a0c2", 0, "mismatch", 1),
        ("7cd8a0c2", 1, "suspect", 1),
        ("7cd8a0d2", 1, "mismatch", 2),
        ("7cd8a0d2", 2, "suspect", 2),
        ("7cd8a1d2", 2, "mismatch", 3),
        ("0000000f", 7, "suspect", 7),
        ("00000000", 7, "mismatch", 8),
        ("05f38cc1", 2, "suspect", 1),
    ],
)
def test_distances_go_to_the_nearest_accepted_label(first8: str, limit: int, kind: str, distance: int) -> None:
    members = {"dna": [{"dna": DNA}, {"dna": "05f38cc080274c5e"}], "max_dna_distance": limit}
    if first8 == "0000000f":
        members["dna"] = [{"dna": "1111111faa6a64d4"}]
    if first8 == "00000000":
        members["dna"] = [{"dna": "1111111faa6a64d4"}]

    judged = verdict(members, dna=first8 + "00000000")

    assert (judged.kind, judged.distance) == (kind, distance)


@pytest.mark.parametrize(
    ("seen", "notes"),
    [
        pytest.param({"dna": "7cd8a0c1" + strand(RUNTIME, INPUT), "input_hash": INPUT}, (), id="right"),
        pytest.param({"dna": DNA, "input_hash": INPUT}, ("strand_differs",), id="strand-of-another-input"),
        pytest.param({"dna": DNA, "input_hash": INPUT[:12]}, (), id="twelve-characters-are-not-recomputed"),
        pytest.param({"dna": DNA, "input_hash": ""}, (), id="no-input"),
        pytest.param({"dna": DNA, "input_hash": INPUT.upper()}, (), id="capitals-are-no-input-hash"),
        pytest.param({"dna": DNA, "input_hash": "é" * 64}, (), id="other-letters-are-no-input-hash"),
        pytest.param({"dna": "ffffffff" + DNA[8:]}, ("label_disagrees",), id="label-of-nobody"),
        pytest.param(
            {"dna": "ffffffff" + DNA[8:], "input_hash": INPUT}, ("label_disagrees", "strand_differs"), id="both"
        ),
        pytest.param({"dna_required": False, "input_hash": INPUT}, (), id="no-dna-no-note"),
    ],
)
def test_an_equal_digest_decides_and_wrong_stamps_are_noted(seen: dict[str, Any], notes: tuple[str, ...]) -> None:
    judged = verdict(digest=DIGEST, **seen)

    assert (judged.kind, judged.reason, judged.notes) == ("match", "digest_equal", notes)


def test_an_entry_without_a_dna_has_no_label_to_disagree_with() -> None:
    assert verdict({"dna": [{"digest": DIGEST}]}, dna=DNA, digest=DIGEST) == Verdict(
        VerdictKind.MATCH, "digest_equal", "declared", None, ()
    )


def test_a_label_match_notes_a_strand_that_its_own_digest_contradicts() -> None:
    judged = verdict({"dna": [{"dna": DNA}]}, dna=DNA, digest=OTHER_DIGEST, input_hash=INPUT)

    assert (judged.reason, judged.notes) == ("label_equal", ("strand_differs",))


@pytest.mark.parametrize(
    ("stated", "minimum", "kind", "assurance"),
    [
        (None, "declared", "match", "declared"),
        ("attested", "declared", "match", "attested"),
        ("perfect", "declared", "match", "declared"),
        ("full-hash", "full-hash", "match", "full-hash"),
        ("gpu-checksum", "full-hash", "match", "gpu-checksum"),
        ("sampled", "full-hash", "incomparable", "sampled"),
        (None, "label", "incomparable", "declared"),
        ("perfect", "label", "incomparable", "declared"),
    ],
)
def test_14_a_match_must_reach_far_enough(stated: str | None, minimum: str, kind: str, assurance: str) -> None:
    judged = verdict({"min_assurance": minimum}, dna=DNA, digest=DIGEST, assurance=stated)

    assert (judged.kind, judged.assurance) == (kind, assurance)
    assert judged.reason == ("digest_equal" if kind == "match" else "assurance_low")


def test_14_a_label_is_worth_a_label_whatever_the_worker_says() -> None:
    assert verdict(dna=DNA, assurance="attested").assurance == "label"
    assert verdict({"min_assurance": "label"}, dna=DNA).kind == "match"
    judged = verdict({"min_assurance": "stat-cached"}, dna=DNA, assurance="attested")
    assert judged == Verdict(VerdictKind.INCOMPARABLE, "assurance_low", "label", 0)


@pytest.mark.parametrize(
    ("status", "hardware", "reason", "notes"),
    [
        pytest.param("ok", A100, "digest_equal", (), id="the-right-machine"),
        pytest.param(
            "ok",
            A10,
            "hardware_differs",
            ('gpu A100 is required, and the worker states "NVIDIA A10"',),
            id="the-wrong-one",
        ),
        pytest.param(
            "ok",
            {"accelerators": []},
            "hardware_differs",
            ("gpu A100 is required, and the worker states none",),
            id="a-cpu-whatever-its-digest",
        ),
        pytest.param("ok", {}, "digest_equal", ("hardware_unstated",), id="a-probe-that-says-nothing-of-it"),
        pytest.param("ok", None, "digest_equal", ("hardware_unstated",), id="a-probe-without-hardware"),
        pytest.param(None, None, "digest_equal", (), id="an-answer-is-not-asked-for-it"),
        pytest.param(
            None,
            A10,
            "hardware_differs",
            ('gpu A100 is required, and the worker states "NVIDIA A10"',),
            id="an-answer-that-states-it",
        ),
        pytest.param(None, {"cuda": "12"}, "digest_equal", (), id="an-answer-that-states-other-things"),
    ],
)
def test_a_match_on_the_wrong_machine_is_none(
    status: str | None, hardware: dict[str, Any] | None, reason: str, notes: tuple[str, ...]
) -> None:
    judged = verdict({"contract": GPU}, dna=DNA, digest=DIGEST, status=status, hardware=hardware)

    assert (judged.reason, judged.notes) == (reason, notes)
    assert judged.kind == ("mismatch" if reason == "hardware_differs" else "match")
    assert judged.assurance == (None if reason == "hardware_differs" else "declared")


def test_without_requirements_no_machine_is_wrong() -> None:
    assert verdict(dna=DNA, digest=DIGEST, status="ok", hardware=A10).notes == ()
    assert verdict(dna=DNA, digest=DIGEST, status="ok").notes == ()


def test_no_answer_is_the_ready_made_observation() -> None:
    assert judge(contract(), NO_ANSWER) == Verdict(VerdictKind.ABSENT, "no_answer")


_STATED = ("status", "format", "dna", "digest", "input_hash", "model_id", "version", "assurance")
_TEXTS = st.none() | st.text(max_size=20) | st.sampled_from([DNA, DIGEST, OTHER_DIGEST, "ok", "m", "v2.4.0", INPUT])


@settings(deadline=None)
@given(
    st.none() | st.integers(100, 599),
    st.lists(_TEXTS, min_size=8, max_size=8),
    st.booleans(),
    st.none() | st.just(A10),
)
def test_any_observation_gets_a_verdict_and_only_an_accepted_one_a_match(
    http: int | None, texts: list[str | None], dna_required: bool, hardware: dict[str, Any] | None
) -> None:
    named = dict(zip(_STATED, texts, strict=True))
    seen = Observation(http=http, dna_required=dna_required, hardware=hardware, **named)

    judged = judge(contract(), seen)

    if judged.kind is VerdictKind.MATCH:
        assert seen.digest == DIGEST or (seen.digest is None and seen.dna is not None and seen.dna[:8] == DNA[:8])
        assert seen.http is not None
        assert seen.http < 500
