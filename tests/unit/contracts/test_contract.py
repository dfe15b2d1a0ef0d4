import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from contracts.contract import Contract, parse_contract
from contracts.faults import DocumentRefused, Fault
from contracts.key import parse_key
from contracts.terms import Enforcement, Limits, Status, Timeouts, Verification
from contracts.validation import MOST_FAULTS
from contracts.version import Version
from inference_dna.assurance import Assurance

BARE: dict[str, Any] = {
    "model_id": "bert-base-chinese",
    "version": "v2.4.0",
    "contract": {
        "input_schema": {"text": "string", "max_length": "integer"},
        "output_schema": {"text": "string", "confidence": "float"},
        "hardware_requirements": {"gpu": ["A100"], "cuda": "12.1", "cudnn": "8.9.2"},
        "behavioral_constraints": {
            "max_input_length": 512,
            "deterministic": True,
            "allowed_tokenizers": ["huggingface/bert-base-chinese-v2.4.0"],
        },
    },
}
DIGEST = "sha256:bc261cf54243739820d50076c61e398ddc56b9da0a9df74aed6b84bef8da7459"
FULL: dict[str, Any] = {
    **BARE,
    "$schema": "../schema/contract.schema.json",
    "schema": 1,
    "status": "draining",
    "deprecated_at": "2026-03-31",
    "sunset_at": "2026-09-30T12:00:00+08:00",
    "successor": "2.5.0",
    "dna": [{"dna": "7cd8a0c1aa6a64d4", "digest": DIGEST, "label": "A100 cu121"}, {"dna": "05f38cc080274c5e"}],
    "enforcement": "observe",
    "verification": "probe",
    "instances": ["http://10.0.0.7:9001/", "HTTPS://Gpu-8/base"],
    "health_url": "http://{host}:9090/healthz",
    "protocol": "http",
    "retries": 0,
    "bind": ["hardware.vbios", "hardware.driver_version"],
    "min_assurance": "full-hash",
    "max_dna_distance": 0,
    "strikes": 1,
    "timeouts": {"connect_s": 0.5, "first_byte_s": 30, "first_byte_stream_s": 5, "upstream_gap_s": 10, "total_s": 60},
    "limits": {"max_in_flight": 8, "max_body_bytes": 1024},
    "signature": {"alg": "ed25519", "kid": "00", "sig": "x"},
}
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def contract(**members: Any) -> Contract:
    return parse_contract(json.dumps({"model_id": "m", "version": "v1.0.0", **members}))


def faults_of(text: str, key: str | None = None) -> list[Fault]:
    with pytest.raises(DocumentRefused) as caught:
        parse_contract(text, key=parse_key(key) if key else None)
    return list(caught.value.faults)


def told(key: str | None = None, **members: Any) -> list[tuple[str, str]]:
    document = {"model_id": "m", "version": "v1.0.0", **members}
    return [(fault.path, fault.message) for fault in faults_of(json.dumps(document), key)]


def test_the_bare_form_of_the_design_loads_as_it_stands() -> None:
    loaded = parse_contract(json.dumps(BARE))

    assert (loaded.model_id, loaded.version) == ("bert-base-chinese", Version(2, 4, 0))
    assert loaded.promise.hardware_requirements.gpu == ("A100",)
    assert loaded.promise.hardware_requirements.cuda is not None
    assert loaded.promise.hardware_requirements.cuda.matches("12.1.105")
    assert loaded.promise.behavioral_constraints.max_input_length == 512
    assert loaded.promise.behavioral_constraints.deterministic is True
    assert loaded.promise.behavioral_constraints.allowed_tokenizers == ("huggingface/bert-base-chinese-v2.4.0",)
    assert loaded.promise.input_schema == {
        "type": "object",
        "properties": {"text": {"type": "string"}, "max_length": {"type": "integer"}},
        "required": ["text", "max_length"],
    }
    assert loaded.warnings == ()


def test_everything_but_model_and_version_has_a_default() -> None:
    loaded = contract()

    assert (loaded.status, loaded.enforcement, loaded.verification) == (
        Status.ACTIVE,
        Enforcement.ENFORCE,
        Verification.RESPONSE,
    )
    assert (loaded.deprecated_at, loaded.sunset_at, loaded.successor) == (None, None, None)
    assert (loaded.dna, loaded.instances, loaded.service, loaded.health_url) == ((), (), None, None)
    assert (loaded.protocol, loaded.retries, loaded.bind, loaded.signature) == ("http", 1, (), None)
    assert (loaded.min_assurance, loaded.max_dna_distance, loaded.strikes) == (Assurance.DECLARED, 2, 3)
    assert loaded.timeouts == Timeouts(
        connect_s=1.0, first_byte_s=300, first_byte_stream_s=60, upstream_gap_s=60, total_s=600
    )
    assert loaded.limits == Limits(max_in_flight=64, max_body_bytes=None)
    assert loaded.promise.hardware_requirements.is_empty


def test_every_member_is_read() -> None:
    loaded = parse_contract(json.dumps(FULL))

    assert (loaded.status, loaded.enforcement, loaded.verification) == ("draining", "observe", "probe")
    assert loaded.deprecated_at == datetime(2026, 3, 31, tzinfo=UTC)
    assert loaded.sunset_at == datetime(2026, 9, 30, 4, tzinfo=UTC)
    assert loaded.successor == Version(2, 5, 0)
    assert [entry.label for entry in loaded.dna] == ["A100 cu121", None]
    assert loaded.accepted.first8_of == {DIGEST: "7cd8a0c1"}
    assert loaded.accepted.labels == {"7cd8a0c1", "05f38cc0"}
    assert loaded.instances == ("http://10.0.0.7:9001", "https://gpu-8/base")
    assert loaded.health_url == "http://{host}:9090/healthz"
    assert loaded.bind == ("hardware.driver_version", "hardware.vbios")
    assert (loaded.retries, loaded.max_dna_distance, loaded.strikes) == (0, 0, 1)
    assert loaded.timeouts.first_byte_stream_s == 5
    assert loaded.limits.max_in_flight == 8
    assert loaded.signature == {"alg": "ed25519", "kid": "00", "sig": "x"}
    assert loaded.version_texts == {"v2.4.0", "2.4.0"}


def test_yaml_and_json_are_the_same_document() -> None:
    text = "model_id: m\nversion: v1.0.0\ndna:\n- dna: 7cd8a0c1aa6a64d4\ninstances: [http://a:1]\n"
    document = {"dna": [{"dna": "7cd8a0c1aa6a64d4"}], "instances": ["http://a:1"]}

    assert parse_contract(text) == contract(**document)


@pytest.mark.parametrize("document", [BARE, FULL])
def test_what_is_written_reads_back_equal(document: dict[str, Any]) -> None:
    loaded = parse_contract(json.dumps(document))

    assert parse_contract(loaded.model_dump_json(by_alias=True)) == loaded


def test_a_contract_is_immutable() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        contract().status = Status.RETIRED  # type: ignore[misc]


def test_values_a_program_made_pass_as_they_are() -> None:
    made = Contract(model_id="m", version=Version(1, 0, 0), deprecated_at=datetime(2026, 1, 1, tzinfo=UTC))

    assert made == contract(deprecated_at="2026-01-01")
    assert made.version_texts == {"v1.0.0", "1.0.0"}


@pytest.mark.parametrize(
    ("members", "path", "sentence"),
    [
        pytest.param({"model_id": ""}, "/model_id", '"" is no model id', id="empty-model"),
        pytest.param({"model_id": "a@b"}, "/model_id", '"a@b" is no model id', id="model-with-a-selector"),
        pytest.param({"version": "2.4"}, "/version", "three numbers are needed", id="two-numbers"),
        pytest.param({"version": 2.4}, "/version", 'put it in quotes: "2.4"', id="number-for-a-version"),
        pytest.param({"version": "^2.4"}, "/version", "is no version", id="range-for-a-version"),
        pytest.param({"status": "retird"}, "/status", 'Did you mean "retired"?', id="status"),
        pytest.param({"statsu": "retired"}, "/statsu", 'Did you mean "status"?', id="almost-a-member"),
        pytest.param({"contract": []}, "/contract", "must be an object", id="promise-of-another-kind"),
        pytest.param(
            {"contract": {"hardware_requirements": {"gpu": "A100"}}},
            "/contract/hardware_requirements/gpu",
            '"A100" must be a list of names, like ["A100"].',
            id="gpu-as-text",
        ),
        pytest.param(
            {"contract": {"hardware_requirements": {"gpu": []}}},
            "/contract/hardware_requirements/gpu",
            "the list is empty",
            id="no-gpu",
        ),
        pytest.param(
            {"contract": {"hardware_requirements": {"gpu": ["--"]}}},
            "/contract/hardware_requirements/gpu/0",
            "names no GPU",
            id="gpu-without-a-word",
        ),
        pytest.param(
            {"contract": {"hardware_requirements": {"cuda": 12.1}}},
            "/contract/hardware_requirements/cuda",
            'put it in quotes: "12.1"',
            id="cuda-as-a-number",
        ),
        pytest.param(
            {"contract": {"hardware_requirements": {"tpu": "v5"}}},
            "/contract/hardware_requirements/tpu",
            "is no member of this object",
            id="requirement-nobody-checks",
        ),
        pytest.param(
            {"contract": {"input_schema": {"text": "strng"}}},
            "/contract/input_schema/text",
            'Did you mean "string"?',
            id="type",
        ),
        pytest.param(
            {"contract": {"behavioral_constraints": {"deterministic": "yes"}}},
            "/contract/behavioral_constraints/deterministic",
            "must be true or false",
            id="truth-value",
        ),
        pytest.param({"dna": [{}]}, "/dna/0", "needs a dna, a digest, or both", id="entry-without-anything"),
        pytest.param(
            {"dna": [{"dna": "7cd8a0c100000000", "digest": DIGEST}]},
            "/dna/0/dna",
            "does not belong to the digest",
            id="verdict-29",
        ),
        pytest.param(
            {"dna": [{"digest": DIGEST}, {"digest": DIGEST, "label": "again"}]},
            "/dna/1",
            "says the same as /dna/0; remove one",
            id="digest-twice",
        ),
        pytest.param(
            {"dna": [{"dna": "7cd8a0c1aa6a64d4"}, {"dna": "7cd8a0c1aa6a64d4"}]},
            "/dna/1",
            "says the same as /dna/0",
            id="dna-twice",
        ),
        pytest.param({"dna": "7cd8a0c1aa6a64d4"}, "/dna", "must be a list", id="dna-as-text"),
        pytest.param({"instances": ["ftp://a"]}, "/instances/0", "must begin with http:// or https://", id="instance"),
        pytest.param(
            {"instances": ["http://a:80", "HTTP://A/"]},
            "/instances/1",
            "says the same as /instances/0",
            id="instance-twice",
        ),
        pytest.param(
            {"instances": ["http://a"], "service": "s"}, "/service", "stands beside instances", id="two-sources"
        ),
        pytest.param({"service": "a b"}, "/service", "is no service name", id="service"),
        pytest.param(
            {"instances": ["http://a", "http://b"], "health_url": "http://c/x"},
            "/health_url",
            "is one address for several instances",
            id="one-attestor-for-two",
        ),
        pytest.param(
            {"service": "s", "health_url": "http://c/x"},
            "/health_url",
            "is one address for several instances",
            id="one-attestor-for-a-service",
        ),
        pytest.param(
            {"draining": ["http://a:1"]}, "/draining/0", "write host:port as `dna status` shows it", id="draining"
        ),
        pytest.param(
            {"health_url": "healthz"}, "/health_url", "write a path like /healthz, or http://{host}:", id="health-url"
        ),
        pytest.param(
            {"deprecated_at": "2026-02-01", "sunset_at": "2026-01-31T23:59:59Z"},
            "/sunset_at",
            "lies before deprecated_at",
            id="sunset-first",
        ),
        pytest.param({"sunset_at": "2026-01-31T23:59:59"}, "/sunset_at", "does not say its time zone", id="no-zone"),
        pytest.param({"successor": "1.0.0"}, "/successor", "v1.0.0 is this version itself", id="own-successor"),
        pytest.param({"bind": ["vbios"]}, "/bind/0", "names no evidence; write section.member", id="bind"),
        pytest.param(
            {"bind": ["hardware.vbios", "hardware.vbios"]}, "/bind/1", "says the same as /bind/0", id="bind-twice"
        ),
        pytest.param({"retries": 2}, "/retries", "it may be at most 1", id="retries"),
        pytest.param({"retries": True}, "/retries", "must be a whole number", id="retries-as-a-truth-value"),
        pytest.param({"max_dna_distance": 8}, "/max_dna_distance", "it may be at most 7", id="distance"),
        pytest.param({"strikes": 0}, "/strikes", "it must be at least 1", id="strikes"),
        pytest.param({"timeouts": {"connect_s": 0}}, "/timeouts/connect_s", "it must be more than 0", id="no-time"),
        pytest.param(
            {"timeouts": {"total_s": "60"}},
            "/timeouts/total_s",
            "must be a number; remove the quotes",
            id="time-as-text",
        ),
        pytest.param({"limits": {"max_in_flight": 1.5}}, "/limits/max_in_flight", "must be a whole number", id="limit"),
        pytest.param({"min_assurance": "full"}, "/min_assurance", 'Did you mean "full-hash"?', id="assurance"),
        pytest.param({"protocol": "grpc"}, "/protocol", 'write "http"', id="protocol"),
        pytest.param({"schema": 2}, "/schema", "an edition that is not known here", id="edition"),
        pytest.param({"signature": "x"}, "/signature", "must be an object", id="signature"),
    ],
)
def test_one_fault_one_sentence(members: dict[str, Any], path: str, sentence: str) -> None:
    [(where, message)] = told(**members)

    assert where == path
    assert sentence in message


@pytest.mark.parametrize(
    "members",
    [
        {"instances": ["http://a", "http://b"], "health_url": "/live"},
        {"instances": ["http://a", "http://b"], "health_url": "http://{host}:9/live"},
        {"instances": ["http://a"], "health_url": "http://attestor/live"},
        {"deprecated_at": "2026-01-01", "sunset_at": "2026-01-01"},
        {"sunset_at": "2026-01-01"},
        {"dna": []},
        {"status": "retired", "successor": None, "service": None, "health_url": None, "signature": None},
    ],
)
def test_neighbours_of_faults_are_accepted(members: dict[str, Any]) -> None:
    assert contract(**members).warnings == ()


def test_key_and_document_must_agree() -> None:
    assert told("contracts/other/v1.0.0") == [
        ("/model_id", '"m" does not agree with the key contracts/other/v1.0.0; change one of the two.')
    ]
    assert told("contracts/m/v1.0.1") == [
        ("/version", "v1.0.0 does not agree with the key contracts/m/v1.0.1; change one of the two.")
    ]
    assert told("contracts/m/v1.0.0+b") == [
        ("/version", "v1.0.0 does not agree with the key contracts/m/v1.0.0+b; change one of the two.")
    ]
    assert told("routes/m") == [("", "the document is read as a contract, but stands under routes/m.")]
    assert parse_contract('{"model_id": "m", "version": "1.0.0"}', key=parse_key("contracts/m/v1.0.0")) == contract()


def test_every_fault_is_told_at_once_with_the_name_of_the_document() -> None:
    text = json.dumps(
        {
            "model_id": "other",
            "version": 2.4,
            "status": "on",
            "contract": {"hardware_requirements": {"gpu": "A100"}, "input_schema": {"a": "x", "b": "y"}},
            "dna": [{"dna": "zz"}, {}],
            "instances": ["a", "http://a", "http://a"],
            "deprecated_at": "2026-02-01",
            "sunset_at": "2026-01-01",
            "strikes": "3",
            "owner": "us",
        }
    ).replace('"strikes"', '"strikes": 3, "strikes"')

    with pytest.raises(DocumentRefused) as caught:
        parse_contract(text, key=parse_key("contracts/m/v1.0.0"))

    assert {fault.path for fault in caught.value.faults} == {
        "/strikes",
        "/model_id",
        "/version",
        "/sunset_at",
        "/instances/2",
        "/status",
        "/instances/0",
        "/dna/0/dna",
        "/dna/1",
        "/contract/hardware_requirements/gpu",
        "/contract/input_schema/a",
        "/contract/input_schema/b",
        "/owner",
    }
    assert str(caught.value).startswith("contracts/m/v1.0.0: /strikes: ")
    assert len(str(caught.value).splitlines()) == 13


def test_an_unknown_member_hides_no_fault_of_the_object_it_stands_in() -> None:
    assert told(dna=[{"owner": "us"}]) == [
        ("/dna/0", "an accepted runtime needs a dna, a digest, or both."),
        ("/dna/0/owner", "is unknown and has no effect."),
    ]


def test_a_document_of_nothing_but_faults_is_told_up_to_a_limit() -> None:
    slips: dict[str, Any] = {f"member-number-{number}": 1 for number in range(5_000)}

    assert len(told(dna=[5] * 50_000, instances=["http://a"] * 5_000, **slips)) <= 2 * MOST_FAULTS


def test_the_name_of_a_file_stands_in_front_where_it_is_given() -> None:
    with pytest.raises(DocumentRefused, match=r"^m\.json: broken JSON at line 1, column 2: "):
        parse_contract("{", name="m.json")


def test_unknown_members_are_kept_out_and_warned_about() -> None:
    # `promise` is the name in code only; in documents the member is called `contract`.
    loaded = contract(owner="us", contract={"notes": "x"}, promise={})

    assert [str(fault) for fault in loaded.warnings] == [
        "/contract/notes: is unknown and has no effect.",
        "/owner: is unknown and has no effect.",
        "/promise: is unknown and has no effect.",
    ]
    assert loaded.model_dump() == contract().model_dump()


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from(sorted(FULL)) | st.text(max_size=8), _JSON, max_size=8))
def test_no_document_breaks_the_reader(members: dict[str, Any]) -> None:
    try:
        outcome: object = parse_contract(json.dumps({"model_id": "m", "version": "v1.0.0", **members}))
    except DocumentRefused as refused:
        outcome = [fault for fault in refused.faults if fault.severity == "error"]
    assert outcome
