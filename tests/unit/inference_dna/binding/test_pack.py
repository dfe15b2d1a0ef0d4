from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from copy import deepcopy
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from inference_dna.binding.pack import check_generator, pack_generator
from inference_dna.binding.settings import BoundSettings, bound_settings
from inference_dna.canonical import Refused
from inference_dna.measure.folder import measure_file
from inference_dna.measure.generation import read_generation
from tests.support.smollm2 import load, model_folder

pytestmark = [pytest.mark.models, pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")]

GREEDY = BoundSettings(max_new_tokens=4, stop_ids=(9,))


@pytest.fixture(scope="module")
def loaded() -> Any:
    return load(model_folder())


@pytest.fixture
def model(loaded: Any) -> Iterator[Any]:
    """The real model; what a test does to its generation defaults is put back."""
    kept = deepcopy(loaded[0].generation_config)
    yield loaded[0]
    loaded[0].generation_config = kept


def counting() -> Any:
    """A model that likes the token after the last one best, over ten tokens."""
    import torch

    class Counting(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.roll(torch.eye(10), 1, dims=1))

        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            return torch.nn.functional.embedding(ids, self.weight)

    return Counting()


def run(file: Path, ids: list[int], draws: list[float] | None = None) -> list[int]:
    """What the file answers in a program that knows nothing of the classes it was made from."""
    import torch

    load_script: Any = torch.jit.load
    loaded = load_script(str(file))
    answered = loaded(torch.tensor([ids]), torch.tensor(draws or [0.0] * 64))
    return [int(token) for token in answered[0]]


def test_the_file_generates_by_itself(tmp_path: Path) -> None:
    entry = pack_generator(counting(), GREEDY, version="2.4.0", target=tmp_path)

    file = tmp_path / "generator_v2.4.0.ts"
    assert entry.name == file.name
    assert entry.sha256 == sha256(file.read_bytes()).hexdigest()
    assert [path.name for path in tmp_path.iterdir()] == [file.name]
    assert run(file, [3]) == [4, 5, 6, 7]
    assert run(file, [6]) == [7, 8, 9]


def test_what_is_compiled_in_can_be_read_without_running_it(tmp_path: Path) -> None:
    pack_generator(counting(), GREEDY, version="v1.0.0", target=tmp_path)

    assert check_generator(tmp_path / "generator_v1.0.0.ts") == json.loads(json.dumps(GREEDY.document()))


def test_nothing_tells_where_it_was_made(tmp_path: Path) -> None:
    pack_generator(counting(), GREEDY, version="v1.0.0", target=tmp_path)

    content = (tmp_path / "generator_v1.0.0.ts").read_bytes()
    assert str(Path(__file__).parents[4]).encode() not in content
    assert b"debug_pkl" not in content
    with zipfile.ZipFile(tmp_path / "generator_v1.0.0.ts") as members:
        assert all(member.date_time == (1980, 1, 1, 0, 0, 0) for member in members.infolist())


def test_it_is_weights_with_post_processing_inside(tmp_path: Path) -> None:
    pack_generator(counting(), GREEDY, version="v1.0.0", target=tmp_path)
    pack_generator(counting(), BoundSettings(4, (8,)), version="v1.0.1", target=tmp_path)

    first, second = (measure_file(tmp_path / f"generator_{version}.ts") for version in ("v1.0.0", "v1.0.1"))

    assert first.form == "torchscript"
    assert [entry.name for entry in first.code["generator_v1.0.0.ts"]]
    assert first.weights[0].sha256 != second.weights[0].sha256


def test_the_environment_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = BoundSettings(4, (9,), do_sample=True, temperature=0.7)
    pack_generator(counting(), settings, version="v1.0.0", target=tmp_path)
    before = run(tmp_path / "generator_v1.0.0.ts", [3], [0.3, 0.6, 0.9, 0.1])

    monkeypatch.setenv("TEMPERATURE", "0.01")

    assert run(tmp_path / "generator_v1.0.0.ts", [3], [0.3, 0.6, 0.9, 0.1]) == before


def test_each_setting_does_what_it_says(tmp_path: Path) -> None:
    def answers(settings: BoundSettings, draws: list[float]) -> list[int]:
        pack_generator(counting(), settings, version="v1.0.0", target=tmp_path)
        return run(tmp_path / "generator_v1.0.0.ts", [3], draws)

    late = [0.99] * 4
    assert answers(BoundSettings(1, (), do_sample=True), [0.0]) == [4]
    assert answers(BoundSettings(1, (), do_sample=True), late) != [4]
    assert answers(BoundSettings(1, (), do_sample=True, top_k=1), late) == [4]
    assert answers(BoundSettings(1, (), do_sample=True, top_p=0.2), late) == [4]
    assert answers(BoundSettings(1, (), do_sample=True, temperature=0.05), late) == [4]
    assert answers(BoundSettings(1, (), bad_words=((4,),)), late) != [4]


def test_a_model_that_is_compiled_already_is_taken_as_it_is(tmp_path: Path) -> None:
    import torch

    script: Any = torch.jit.script
    pack_generator(script(counting()), GREEDY, version="v1.0.0", target=tmp_path)

    assert run(tmp_path / "generator_v1.0.0.ts", [3]) == [4, 5, 6, 7]


def test_an_own_processor_is_compiled_in(tmp_path: Path) -> None:
    import torch

    class Never(torch.nn.Module):
        def forward(self, scores: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
            scores[:, 4] = -1000.0
            return scores

    pack_generator(counting(), GREEDY, version="v1.0.0", target=tmp_path, processor=Never())

    assert 4 not in run(tmp_path / "generator_v1.0.0.ts", [3])


def test_a_processor_that_reads_a_file_is_refused(tmp_path: Path) -> None:
    import torch

    class FromFile(torch.nn.Module):
        def forward(self, scores: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
            return scores / torch.from_file("/etc/temperature", False, 1)

    with pytest.raises(Refused, match=r"not bound to the model\. .*reads a file"):
        pack_generator(counting(), GREEDY, version="v1.0.0", target=tmp_path, processor=FromFile())
    assert list(tmp_path.iterdir()) == []


def test_a_processor_that_reads_the_environment_does_not_compile(tmp_path: Path) -> None:
    import os

    import torch

    class FromEnvironment(torch.nn.Module):
        def forward(self, scores: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
            return scores / float(os.environ["TEMPERATURE"])

    with pytest.raises(Refused, match="cannot be compiled"):
        pack_generator(counting(), GREEDY, version="v1.0.0", target=tmp_path, processor=FromEnvironment())
    assert list(tmp_path.iterdir()) == []


def test_a_bad_word_that_the_model_does_not_have_is_refused(tmp_path: Path) -> None:
    settings = BoundSettings(max_new_tokens=4, stop_ids=(), bad_words=((3,), (4, 10)))

    with pytest.raises(Refused, match="bad_words holds 10, and the model has the tokens 0 to 9"):
        pack_generator(counting(), settings, version="1.0.0", target=tmp_path)

    assert list(tmp_path.iterdir()) == []


def test_a_model_that_depends_on_the_traced_length_is_refused(tmp_path: Path) -> None:
    import torch

    class Branching(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.eye(10))

        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            scores = torch.nn.functional.embedding(ids % 10, self.weight)
            return scores if ids.size(1) < 8 else -scores

    with pytest.raises(Refused, match="answers otherwise once compiled, at a length of 11"):
        pack_generator(Branching(), GREEDY, version="v1.0.0", target=tmp_path)


def test_an_archive_with_a_read_inside_fails_the_check(tmp_path: Path) -> None:
    pack_generator(counting(), GREEDY, version="v1.0.0", target=tmp_path)
    file = tmp_path / "generator_v1.0.0.ts"
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("generator/code/late.py", 'def f() -> str:\n  return os.environ["TEMPERATURE"]\n')

    with pytest.raises(Refused, match=r"code/late\.py:2: reads the environment variable TEMPERATURE"):
        check_generator(file)


def test_an_archive_of_somebody_else_says_no_settings(tmp_path: Path) -> None:
    import torch

    torch.jit.save(torch.jit.script(counting()), str(tmp_path / "x.ts"))

    with pytest.raises(Refused, match="does not say which settings"):
        check_generator(tmp_path / "x.ts")


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"max_new_tokens": 0}, "max_new_tokens"),
        ({"top_p": 0.0}, "top_p"),
        ({"top_k": -1}, "top_k"),
        ({"temperature": 0.0}, "temperature"),
        ({"repetition_penalty": -1.0}, "repetition_penalty"),
        ({"bad_words": ((),)}, "bad_words"),
        ({"bad_words": ((-1,),)}, "bad_words"),
    ],
)
def test_settings_out_of_range_are_refused(changed: dict[str, Any], reason: str) -> None:
    given: dict[str, Any] = {"max_new_tokens": 1, "stop_ids": (), **changed}

    with pytest.raises(Refused, match=reason):
        BoundSettings(**given)


def test_effective_values_become_settings_and_none_is_dropped(model: Any, loaded: Any) -> None:
    def settings(**defaults: Any) -> BoundSettings:
        return bound_settings(read_generation(model, loaded[1], defaults=defaults))

    assert settings(max_new_tokens=8) == BoundSettings(8, (2,))
    sampled = settings(max_new_tokens=8, do_sample=True, temperature=0.7, top_p=0.9)
    assert (sampled.temperature, sampled.top_k, sampled.top_p) == (0.7, 50, 0.9)
    worded = settings(max_new_tokens=8, bad_words_ids=[[5], [6, 7], [2]])
    assert worded.bad_words == ((5,), (6, 7))
    with pytest.raises(Refused, match="setting num_beams is 4"):
        settings(max_new_tokens=8, num_beams=4)
    with pytest.raises(Refused, match="setting stop_strings"):
        settings(max_new_tokens=8, stop_strings=["x"])
    with pytest.raises(Refused, match="states max_new_tokens"):
        settings()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_real_model_packed_answers_as_it_did(model: Any, loaded: Any, tmp_path: Path) -> None:
    """SmolLM2 with a repetition penalty, greedy: token by token what the library gives without its cache."""
    import torch

    defaults = {"max_new_tokens": 8, "repetition_penalty": 1.3}
    settings = bound_settings(read_generation(model, loaded[1], defaults=defaults))
    question = [{"role": "user", "content": "What is the capital of France?"}]
    asked = loaded[1].apply_chat_template(question, add_generation_prompt=True, return_dict=True, return_tensors="pt")

    entry = pack_generator(model, settings, version="v1.0.0", target=tmp_path)

    with torch.no_grad():
        expected = model.generate(**asked, **defaults, use_cache=False)[0, asked["input_ids"].shape[1] :]
    assert run(tmp_path / entry.name, asked["input_ids"][0].tolist()) == expected.tolist()
    assert "Paris" in loaded[1].decode(expected)
    assert check_generator(tmp_path / entry.name)["repetition_penalty"] == 1.3
