from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from inference_dna import guard
from inference_dna.assurance import Assurance
from inference_dna.canonical import Refused
from inference_dna.golden import Golden, with_golden
from inference_dna.guard import MISMATCH, UNPROVEN, GuardRefused, Trust, Worker
from inference_dna.making.manifest_text import manifest_text
from inference_dna.serving.standing import Status
from inference_dna.trust.keys import read_public_key
from inference_dna.trust.pem import new_key_pair
from inference_dna.trust.signing import sign_ed25519
from tests.support.manifests import FILES, artifact_of, genome_of, manifest_document, with_value

NOW = datetime(2025, 2, 1, tzinfo=UTC)
PRIVATE, PUBLIC = new_key_pair()
KEY = read_public_key(PUBLIC)
GENOME = genome_of()
GOLDEN = Golden((1, 2), (3, 4, 5))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path


def written(
    place: Path, genome: Mapping[str, Any] = GENOME, *, private: bytes | None = PRIVATE, **changes: Any
) -> Path:
    document = {**manifest_document(genome), **changes}
    if private is not None:
        document = sign_ed25519(document, private)
    path = place / "manifest.json"
    path.write_text(manifest_text(document), encoding="utf-8")
    return path


def worker(genome: Mapping[str, Any] = GENOME, **changes: Any) -> Worker:
    return replace(Worker(measure=lambda _bind: genome), **changes)


def refused(manifest: Path, made: Worker, **options: Any) -> GuardRefused:
    with pytest.raises(GuardRefused) as caught:
        guard.check(manifest, made, **{"trust": [KEY], "now": NOW, **options})
    return caught.value


def test_a_worker_that_is_what_was_promised_is_ok(place: Path) -> None:
    standing = guard.check(written(place), worker(), trust=[KEY], now=NOW)

    assert standing.state.status is Status.OK
    assert (standing.served.model_id, standing.served.version) == ("bert-base-chinese", "v2.4.0")
    assert standing.health()[1]["dna"] == manifest_document()["dna"]


def test_keys_may_be_files(place: Path) -> None:
    (place / "release.pem.pub").write_bytes(PUBLIC)

    assert guard.check(written(place), worker(), trust=[place / "release.pem.pub"]).is_ok
    assert guard.check(str(written(place)), worker(), trust=[str(place / "release.pem.pub")]).is_ok


@pytest.mark.parametrize(
    ("path", "value", "section", "tells"),
    [
        ("weights.files", genome_of({**FILES, "config.json": b"{}"})["weights"]["files"], "weights", "config.json"),
        ("tokenizer.probe.ids", "9" * 64, "tokenizer", "probe.ids"),
        ("postprocess.values.temperature", 0.95, "postprocess", "values.temperature 0.7 -> 0.95"),
        ("framework.packages.torch", "2.3.0", "framework", "packages.torch"),
        ("framework.env.VLLM_ATTENTION_BACKEND", "FLASHINFER", "framework", "env.VLLM_ATTENTION_BACKEND"),
        ("hardware.cudnn", "8.9.7", "hardware", 'cudnn "8.9.2" -> "8.9.7"'),
    ],
)
def test_each_section_that_differs_is_named(path: str, value: Any, section: str, tells: str, place: Path) -> None:
    found = refused(written(place), worker(with_value(GENOME, path, value)))

    assert found.code == MISMATCH
    assert [row.section for row in found.rows] == [section]
    assert tells in found.report()
    assert found.rows[0].promised != found.rows[0].measured


def test_the_table_has_a_heading_and_says_what_it_means(place: Path) -> None:
    changed = with_value(with_value(GENOME, "hardware.cuda", "12.4"), "postprocess.values.top_k", 1)
    lines = refused(written(place), worker(changed)).report().splitlines()

    assert lines[0] == ("This worker is not bert-base-chinese v2.4.0 as its manifest promises it; it must not start.")
    assert lines[1].split() == ["SECTION", "PROMISED", "MEASURED", "WHAT", "IT", "MEANS"]
    assert lines[2].startswith("postprocess  sha256:")
    assert "the same scores become other answers" in lines[2]
    assert lines[3] == "    setting values.top_k 50 -> 1"
    assert lines[4].startswith("hardware     sha256:")


def test_all_that_differs_is_told_at_once(place: Path) -> None:
    changed = with_value(with_value(GENOME, "hardware.cuda", "12.4"), "postprocess.values.top_k", 1)
    made = worker(changed, loaded=lambda: "model.norm.weight")
    found = refused(written(place), made, pins={"cuda": "12.1"})

    assert [row.section for row in found.rows] == ["postprocess", "hardware", "pin cuda", "in memory"]


# who signed -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("private", "trust", "why"),
    [
        pytest.param(None, [KEY], "carries no signature", id="unsigned"),
        pytest.param(new_key_pair()[0], [KEY], "is not trusted", id="signed-by-another"),
        pytest.param(PRIVATE, [replace(KEY, not_after=NOW)], "expired", id="expired-key"),
        pytest.param(PRIVATE, [], "is not trusted", id="nobody-is-trusted"),
    ],
)
def test_a_manifest_that_no_trusted_key_signed(private: bytes | None, trust: Any, why: str, place: Path) -> None:
    found = refused(written(place, private=private), worker(), trust=trust)

    assert found.code == UNPROVEN
    assert why in found.report()


def test_a_manifest_that_was_changed_after_signing(place: Path) -> None:
    path = written(place)
    document = json.loads(path.read_text())
    path.write_text(json.dumps({**document, "created_at": "2026-01-01T00:00:00Z"}))

    assert "bad signature" in refused(path, worker()).report()


def test_an_unsigned_manifest_may_be_asked_for(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert guard.check(written(place, private=None), worker(), trust=Trust(unsigned=True)).is_ok
    assert "nobody vouches for it" in capsys.readouterr().err


def test_the_assurance_is_what_the_measurement_reached(place: Path) -> None:
    made = worker(assurance=lambda: Assurance.STAT_CACHED)

    assert guard.check(written(place), made, trust=[KEY]).health()[1]["assurance"] == "stat-cached"


# what cannot be found out ---------------------------------------------------------------------------------------------


def unreadable(_bind: object) -> Any:
    raise Refused("The library cudnn cannot be read.")


def broken() -> Any:
    raise RuntimeError("out of memory")


@pytest.mark.parametrize(
    ("made", "why"),
    [
        pytest.param(worker(measure=unreadable), "cudnn cannot be read", id="a-fact"),
        pytest.param(worker(measure=lambda _bind: broken()), "measurement ended in RuntimeError", id="measuring"),
        pytest.param(worker({"format": "inference-dna/1"}), "has no section", id="no-genome"),
        pytest.param(worker(warm_up=broken), "warm-up ended in RuntimeError: out of memory", id="warm-up"),
    ],
)
def test_what_cannot_be_found_out_is_no_start(made: Worker, why: str, place: Path) -> None:
    found = refused(written(place), made)

    assert (found.code, found.rows) == (UNPROVEN, ())
    assert why in found.report()


def test_a_manifest_that_is_not_there_or_names_nothing(place: Path) -> None:
    assert "Reading the file" in refused(place / "none.json", worker()).report()
    assert "names no model" in refused(written(place, subject=None), worker()).report()


# more than the manifest -----------------------------------------------------------------------------------------------


def test_a_manifest_of_the_artifact_alone_promises_no_stack(place: Path) -> None:
    path = written(place, artifact_of(GENOME))

    assert guard.check(path, worker(with_value(GENOME, "hardware.cuda", "12.4")), trust=[KEY]).is_ok
    assert refused(path, worker(with_value(GENOME, "postprocess.values.top_k", 1))).code == MISMATCH


def test_a_manifest_that_was_made_without_asking_proves_nothing(place: Path) -> None:
    unasked = artifact_of(with_value(GENOME, "tokenizer.probe", None))
    found = refused(written(place, unasked), worker())

    assert found.code == UNPROVEN
    assert [row.section for row in found.rows] == ["tokenizer"]
    assert "only one side measured what it makes of text" in found.report()
    # What was measured on both sides and differs is a mismatch all the same.
    other = {**unasked, "weights": {**unasked["weights"], "format": "gguf"}}
    assert refused(written(place, other), worker()).code == MISMATCH


def test_the_binding_of_the_manifest_is_measured_under(place: Path) -> None:
    asked: list[object] = []
    bound = with_value(GENOME, "bind", ["hardware.driver_version"])

    def measure(bind: object) -> Any:
        asked.append(bind)
        return bound

    assert guard.check(written(place, bound), Worker(measure), trust=[KEY]).is_ok
    assert asked == [["hardware.driver_version"]]


def test_the_contract_pins_cuda_and_cudnn(place: Path) -> None:
    contract = place / "contract.json"
    requirements = {"gpu": ["A100"], "cuda": "12.1", "cudnn": "8.9.7"}
    document = {"model_id": "m", "version": "v1.0.0", "contract": {"hardware_requirements": requirements}}
    contract.write_text(json.dumps(document))
    found = refused(written(place, artifact_of(GENOME)), worker(), contract=contract)

    assert found.code == MISMATCH
    assert [(row.section, row.promised, row.measured) for row in found.rows] == [("pin cudnn", "8.9.7", "8.9.2")]
    assert "no contract" in refused(written(place), worker(), contract=written(place)).report()


def test_a_contract_in_another_language_is_named_as_such(place: Path) -> None:
    contract = place / "contract.yaml"
    contract.write_text("model_id: m\ncontract:\n  hardware_requirements: {cuda: '12.1'}\n", encoding="utf-8")
    found = refused(written(place), worker(), contract=contract)

    assert found.code == UNPROVEN
    assert "contract.yaml' cannot be used; it is one JSON document." in found.report()


def test_what_lies_in_memory_must_be_what_the_files_hold(place: Path) -> None:
    assert guard.check(written(place), worker(loaded=lambda: None), trust=[KEY]).is_ok
    assert "model.norm.weight" in refused(written(place), worker(loaded=lambda: "model.norm.weight")).report()


# warming up and the golden input --------------------------------------------------------------------------------------


def test_the_warm_up_comes_before_the_measurement(place: Path) -> None:
    order: list[str] = []

    def measure(_bind: object) -> Any:
        order.append("measured")
        return GENOME

    made = Worker(measure, warm_up=lambda: order.append("warmed up"), loaded=lambda: order.append("compared"))
    guard.check(written(place), made, trust=[KEY])

    assert order == ["warmed up", "measured", "compared"]


@pytest.mark.parametrize(
    ("answered", "tells"),
    [([3, 4, 5], None), ([3, 4, 6], "token 2 is 6 instead of 5"), ([3], "token 1 is no token instead of 4")],
)
def test_the_golden_input_gets_the_recorded_tokens(answered: list[int], tells: str | None, place: Path) -> None:
    path = written(place, with_golden(GENOME, GOLDEN))
    asked: list[Any] = []

    def generate(ids: Any, most: int) -> list[int]:
        asked.append((list(ids), most))
        return answered

    if tells is None:
        assert guard.check(path, worker(generate=generate), trust=[KEY]).is_ok
    else:
        found = refused(path, worker(generate=generate))
        assert (found.code, found.rows[0].section) == (MISMATCH, "golden input")
        assert tells in found.report()
    assert asked == [([1, 2], 3)]


def test_a_golden_input_that_cannot_be_asked_is_no_start(place: Path) -> None:
    path = written(place, with_golden(GENOME, GOLDEN))

    assert "cannot be asked it" in refused(path, worker()).report()
    assert "ended in RuntimeError" in refused(path, worker(generate=lambda _ids, _most: broken())).report()


# ending the process ---------------------------------------------------------------------------------------------------


def test_require_prints_the_table_and_ends_the_process(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        guard.require(written(place), worker(with_value(GENOME, "hardware.cuda", "12.4")), trust=[KEY])
    out, err = capsys.readouterr()

    assert caught.value.code == 86
    assert out == ""
    assert "SECTION" in err
    assert 'version cuda "12.1" -> "12.4"' in err


def test_require_ends_otherwise_where_nothing_is_known(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        guard.require(place / "none.json", worker(), trust=[KEY])

    assert caught.value.code == 87
    assert "must not start" in capsys.readouterr().err


def test_require_gives_the_standing(place: Path) -> None:
    assert guard.require(written(place), worker(), trust=[KEY]).is_ok
