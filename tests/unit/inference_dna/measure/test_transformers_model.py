from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inference_dna.canonical import Refused
from inference_dna.files import FileEntry
from inference_dna.genome import SECTIONS, genome
from inference_dna.measure.folder import ModelFolder, measure_folder
from inference_dna.measure.pytorch.stack import Machine
from inference_dna.measure.served_tokenizer import Paths
from inference_dna.measure.tokenizer import recorded_probe
from inference_dna.measure.transformers_model import measure
from tests.support.smollm2 import copy_folder
from tests.unit.inference_dna.measure.conftest import Loaded

pytestmark = pytest.mark.models

OTHER_CPU = "processor\t: 0\nmodel name\t: AMD EPYC 7742\nflags\t\t: fpu sse4_1 sse4_2 avx f16c fma avx2\n"


@pytest.fixture
def model(smollm2: Loaded) -> Iterator[Any]:
    """The real model; what a test does to its generation defaults is put back."""
    kept = deepcopy(smollm2.model.generation_config)
    yield smollm2.model
    smollm2.model.generation_config = kept


@pytest.fixture(scope="module")
def files(smollm2: Loaded) -> ModelFolder:
    return measure_folder(smollm2.folder)


@pytest.fixture
def before(smollm2: Loaded, files: ModelFolder) -> dict[str, Any]:
    return measured(smollm2, files)


def measured(loaded: Loaded, folder: ModelFolder | Path, **given: Any) -> dict[str, Any]:
    genome_document: dict[str, Any] = measure(
        loaded.model, loaded.tokenizer, folder=folder, **({"environ": {}} | given)
    )
    return genome_document


def moved(before: Mapping[str, Any], after: Mapping[str, Any]) -> set[str]:
    """The sections whose digests differ."""
    first, second = genome(before).digests, genome(after).digests
    return {name for name in SECTIONS if getattr(first, name) != getattr(second, name)}


def test_the_genome_is_complete(before: dict[str, Any]) -> None:
    read = genome(before)

    assert len(read.digests.dna()) == 16
    sections: dict[str, Any] = dict(read.sections)
    weights, tokenizer, framework = (sections[name] for name in ("weights", "tokenizer", "framework"))
    assert weights["format"] == "safetensors"
    assert weights["load"] == {"dtype": "bfloat16", "quantization": None}
    assert tokenizer["kind"] == "huggingface-fast"
    assert tokenizer["settings"]["bos"] == {"completion": 0, "chat": 1}
    assert framework["engine"]["name"] == "transformers"
    assert framework["flags"]["attention"] == "sdpa"
    assert framework["packages"]["torch"].startswith("2.")
    assert read.sections["postprocess"]["kind"] == "generation"
    assert read.sections["hardware"]["accelerators"] == []
    probed = recorded_probe(tokenizer)
    assert probed is not None
    assert len(probed.texts) == 49


def test_measuring_twice_gives_the_same_and_touches_nothing(smollm2: Loaded, before: dict[str, Any]) -> None:
    assert moved(before, measured(smollm2, smollm2.folder)) == set()


def test_evidence_that_a_contract_binds_enters_the_digest(smollm2: Loaded, files: ModelFolder) -> None:
    bound = measured(smollm2, files, bind=["framework.python_full"])

    assert genome(bound).bind == ("framework.python_full",)


@pytest.mark.parametrize(
    ("given", "section"),
    [
        pytest.param(
            {"defaults": {"do_sample": True, "temperature": 0.95}}, "postprocess", id="a-default-of-the-worker"
        ),
        pytest.param({"defaults": {"eos_token_id": [2, 0]}}, "postprocess", id="another-stop-token"),
        pytest.param({"filters": [json.dumps]}, "postprocess", id="a-filter"),
        pytest.param({"environ": {"CUBLAS_WORKSPACE_CONFIG": ":4096:8"}}, "framework", id="a-variable-of-env-1"),
        pytest.param({"environ": {"ONEDNN_MAX_CPU_ISA": "AVX2"}}, "framework", id="a-variable-of-the-processor"),
        pytest.param({"paths": Paths(encode=lambda text: [1, 2, 3])}, "tokenizer", id="another-path-to-ids"),
        pytest.param({"paths": Paths(further={"offline": lambda text: [1, 1]})}, "tokenizer", id="a-path-counted"),
    ],
)
def test_each_change_moves_its_section_alone(
    smollm2: Loaded, files: ModelFolder, before: dict[str, Any], given: dict[str, Any], section: str
) -> None:
    assert moved(before, measured(smollm2, files, **given)) == {section}


def test_a_default_of_the_model_moves_post_processing_alone(
    model: Any, smollm2: Loaded, files: ModelFolder, before: dict[str, Any]
) -> None:
    model.generation_config.repetition_penalty = 1.2

    assert moved(before, measured(smollm2, files)) == {"postprocess"}


def test_a_changed_template_moves_the_tokenizer_alone(smollm2: Loaded, before: dict[str, Any], tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    folder = copy_folder(tmp_path / "model")
    template = folder / "chat_template.jinja"
    template.write_text(template.read_text(encoding="utf-8").replace("<|im_end|>", "<|im_end|> "), encoding="utf-8")
    changed = replace(smollm2, tokenizer=AutoTokenizer.from_pretrained(folder))

    assert moved(before, measured(changed, folder)) == {"tokenizer"}


def test_weights_in_another_precision_move_weights_and_what_computes_them(
    smollm2: Loaded, files: ModelFolder, before: dict[str, Any]
) -> None:
    import torch
    from transformers import AutoModelForCausalLM

    wider = AutoModelForCausalLM.from_pretrained(smollm2.folder, dtype=torch.float32)

    assert moved(before, measured(replace(smollm2, model=wider), files)) == {"weights", "framework"}


def test_a_setting_of_the_library_moves_the_framework_alone(
    smollm2: Loaded, files: ModelFolder, before: dict[str, Any]
) -> None:
    import torch

    torch.use_deterministic_algorithms(True)
    try:
        assert moved(before, measured(smollm2, files)) == {"framework"}
    finally:
        torch.use_deterministic_algorithms(False)


@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
def test_a_compiled_model_is_seen(smollm2: Loaded, files: ModelFolder, before: dict[str, Any]) -> None:
    import torch

    compiled = replace(smollm2, model=torch.compile(smollm2.model))

    assert moved(before, measured(compiled, files)) == {"framework"}


def test_training_mode_is_seen(smollm2: Loaded, files: ModelFolder, before: dict[str, Any]) -> None:
    smollm2.model.train()
    try:
        assert moved(before, measured(smollm2, files)) == {"framework"}
    finally:
        smollm2.model.eval()


def test_another_machine_moves_the_hardware_alone(
    smollm2: Loaded, files: ModelFolder, before: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "cpuinfo").write_text(OTHER_CPU, encoding="utf-8")

    assert moved(before, measured(smollm2, files, machine=Machine(cpuinfo=tmp_path / "cpuinfo"))) == {"hardware"}


OWN = """\
import os

class Own:
    def __init__(self, limit):
        self.limit = limit

    def __call__(self, text):
        return text[: self.limit]

def limited(text):
    return text[: int(os.environ["ANSWER_LIMIT"])]
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    import importlib

    (tmp_path / "own_filters.py").write_text(OWN, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("ANSWER_LIMIT", "80")
    made = importlib.import_module("own_filters")
    yield made
    del sys.modules["own_filters"]


def test_a_filter_is_its_code_and_its_values(smollm2: Loaded, files: ModelFolder, own: Any, tmp_path: Path) -> None:
    first = measured(smollm2, files, filters=[own.Own(80)])

    assert moved(first, measured(smollm2, files, filters=[own.Own(80)])) == set()
    assert moved(first, measured(smollm2, files, filters=[own.Own(81)])) == {"postprocess"}
    (tmp_path / "own_filters.py").write_text(OWN.replace("text[: self.limit]", "text[self.limit :]"), encoding="utf-8")
    assert moved(first, measured(smollm2, files, filters=[own.Own(80)])) == {"postprocess"}


def test_a_variable_that_the_code_reads_enters_the_digest_by_its_own_digest(
    smollm2: Loaded, files: ModelFolder, own: Any
) -> None:
    def read(environ: dict[str, str]) -> Mapping[str, Any]:
        return measured(smollm2, files, filters=[own.limited], environ=environ)

    first = read({"ANSWER_LIMIT": "80"})

    section = first["postprocess"]
    assert isinstance(section, dict)
    assert list(section["env"]) == ["ANSWER_LIMIT"]
    assert section["evidence"]["reads"] == ["own_filters.py:11: reads the environment variable ANSWER_LIMIT"]
    assert moved(first, read({"ANSWER_LIMIT": "81"})) == {"postprocess"}
    assert moved(first, read({})) == {"postprocess"}
    assert moved(first, read({"ANSWER_LIMIT": "80", "TEMPERATURE": "0.95"})) == set()


def test_a_variable_that_nobody_reads_is_listed_and_decides_nothing(
    smollm2: Loaded, files: ModelFolder, before: dict[str, Any]
) -> None:
    after = measured(smollm2, files, environ={"TEMPERATURE": "0.95"})

    assert moved(before, after) == set()
    assert list(after["postprocess"]["evidence"]["settings_environment"]) == ["TEMPERATURE"]


def test_faults_of_the_cache_folder_are_reported(smollm2: Loaded, files: ModelFolder) -> None:
    section = measured(smollm2, files, environ={"HF_HOME": "relative"})["tokenizer"]

    assert "is not absolute" in section["evidence"]["cache_faults"][0]


def test_a_dictionary_outside_the_folder_is_part_of_the_tokenizer(
    smollm2: Loaded, files: ModelFolder, before: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "user.dict").write_bytes(b"words")
    after = measured(smollm2, files, paths=Paths(dictionaries={"segmenter": tmp_path / "user.dict"}))

    assert moved(before, after) == {"tokenizer"}
    names = [entry["name"] for entry in after["tokenizer"]["files"]]
    assert "extra/segmenter/user.dict" in names


def test_a_tokenizer_inside_the_weights_is_embedded(smollm2: Loaded, files: ModelFolder) -> None:
    section = measured(smollm2, replace(files, tokenizer=()))["tokenizer"]

    assert section["kind"] == "embedded"
    assert "files" not in section


def test_a_classifier_says_its_labels() -> None:
    from tests.support.tiny_classifier import classifier

    model, tokenizer = classifier()
    files = ModelFolder((FileEntry("model.safetensors", 0, "0" * 64),), (), (), (), form="safetensors")

    section: Any = measure(model, tokenizer, folder=files, environ={})["postprocess"]

    assert section["kind"] == "classification"
    assert section["values"]["labels"] == [[0, "cold"], [1, "warm"]]


def test_an_adapter_that_is_named_and_not_loaded_is_refused(
    smollm2: Loaded, files: ModelFolder, tmp_path: Path
) -> None:
    with pytest.raises(Refused, match=r"\[\] loaded and \['polite'\] are named"):
        measured(smollm2, files, adapters={"polite": tmp_path})


def test_a_filter_without_source_is_refused(smollm2: Loaded, files: ModelFolder) -> None:
    with pytest.raises(Refused, match=r"has no source"):
        measured(smollm2, files, filters=[len])


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_two_processes_under_different_environments_are_one_runtime(smollm2: Loaded) -> None:
    """Post-processing is bound: neither the environment nor the order of a process's hashes may move anything."""
    code = (
        "from pathlib import Path\nimport sys\nfrom tests.support.smollm2 import load\n"
        "from inference_dna.genome import genome\nfrom inference_dna.measure.transformers_model import measure\n"
        "folder = Path(sys.argv[1])\nmodel, tokenizer = load(folder)\n"
        "print(genome(measure(model, tokenizer, folder=folder)).digests)\n"
    )
    environments = [{"PYTHONHASHSEED": "1"}, {"PYTHONHASHSEED": "2", "TEMPERATURE": "0.95", "HF_HUB_OFFLINE": "1"}]

    told = [
        subprocess.run(
            [sys.executable, "-c", code, str(smollm2.folder)], env={**os.environ, **extra}, capture_output=True,
            text=True, check=True,
        ).stdout
        for extra in environments
    ]  # fmt: skip

    assert told[0] == told[1] != ""
