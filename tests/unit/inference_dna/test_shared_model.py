"""One model for many threads: loaded once, settings that live and die with a request; and the pattern it replaces."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from inference_dna.shared_model import LoadFailed, SettingRefused, SharedModel, from_pretrained
from tests.support.smollm2 import model_folder
from tests.support.tiny_causal import causal

THREADS = 50
REQUESTS: list[dict[str, Any]] = [
    {"max_new_tokens": 6},
    {"repetition_penalty": 1.9, "max_new_tokens": 8},
    {"do_sample": True, "temperature": 2.5, "seed": 1},
    {"do_sample": True, "temperature": 2.5, "seed": 2, "top_k": 5},
    {"do_sample": True, "top_p": 0.5, "seed": 3},
    {"no_repeat_ngram_size": 1, "max_new_tokens": 10},
    {"bad_words_ids": [[3], [4, 5]], "max_new_tokens": 5},
    {},
]


class Loading:
    """A load that takes a while, counts its calls, and fails as often as it is told."""

    def __init__(self, failures: int = 0) -> None:
        self.calls = 0
        self.may_end = threading.Event()
        self._failures = failures

    def __call__(self) -> tuple[Any, Any]:
        self.calls += 1
        assert self.may_end.wait(20)
        if self.calls <= self._failures:
            raise OSError("no such file: model.safetensors")
        return "model", "tokenizer"


def from_threads(ask: Callable[[], Any], may_end: threading.Event) -> list[Any]:
    """Ask from many threads that begin at once, and give what each got or was told."""
    barrier = threading.Barrier(THREADS + 1)

    def one() -> Any:
        barrier.wait()
        try:
            return ask()
        except LoadFailed as failed:
            return str(failed)

    with ThreadPoolExecutor(THREADS) as pool:
        asked = [pool.submit(one) for _ in range(THREADS)]
        barrier.wait()
        may_end.set()
        return [each.result(20) for each in asked]


def test_fifty_threads_load_once() -> None:
    load = Loading()

    got = from_threads(SharedModel(load).get, load.may_end)

    assert load.calls == 1
    assert got == [("model", "tokenizer")] * THREADS


def test_nothing_is_loaded_before_it_is_needed() -> None:
    load = Loading()
    SharedModel(load, max_new_tokens=3).reset_defaults(top_k=1)

    assert load.calls == 0


def test_all_that_wait_are_told_why_and_the_next_tries_again() -> None:
    load = Loading(failures=1)
    shared = SharedModel(load)
    reasons: list[str] = []

    def ask() -> None:
        with pytest.raises(LoadFailed, match="OSError: no such file") as told:
            shared.get()
        reasons.append(str(told.value))

    waiting = [threading.Thread(target=ask) for _ in range(THREADS)]
    for thread in waiting:
        thread.start()
    load.may_end.set()
    # All of them began before the load ended, or after it: then they load anew, which no longer fails.
    for thread in waiting:
        thread.join(20)

    assert reasons
    assert shared.get() == ("model", "tokenizer")


def test_an_interrupted_load_leaves_nobody_waiting() -> None:
    def interrupted() -> tuple[Any, Any]:
        raise KeyboardInterrupt

    shared = SharedModel(interrupted)

    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            shared.get()


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"temprature": 1.0}, "temprature is no setting; there are max_new_tokens"),
        ({"generation_config": {}}, "generation_config is no setting"),
        ({"temperature": "hot"}, "temperature must be a number from 0.001 to 100, and this is 'hot'"),
        ({"temperature": 0}, "temperature must be a number from 0.001 to 100"),
        ({"temperature": 1e-300}, "temperature must be"),
        ({"temperature": 10**400}, "temperature must be"),
        ({"repetition_penalty": 0}, "repetition_penalty must be a number above 0 and at most 100"),
        ({"temperature": float("nan")}, "temperature must be"),
        ({"temperature": True}, "temperature must be"),
        ({"top_p": 1.1}, "top_p must be a number above 0 and at most 1"),
        ({"top_k": 1.5}, "top_k must be an integer of at least 0"),
        ({"max_new_tokens": 0}, "max_new_tokens must be an integer of at least 1"),
        ({"max_new_tokens": True}, "max_new_tokens must be"),
        ({"do_sample": 1}, "do_sample must be true or false"),
        ({"stop_strings": "a"}, "stop_strings must be texts"),
        ({"bad_words_ids": [3]}, "bad_words_ids must be lists of token ids"),
        ({"bad_words_ids": [[]]}, "bad_words_ids must be"),
        ({"seed": -1}, "seed must be an integer from 0"),
        ({"top_k": None}, "top_k must be"),
    ],
)
def test_a_wrong_setting_is_refused_with_its_field_before_anything_is_loaded(
    settings: dict[str, Any], says: str
) -> None:
    load = Loading()
    shared = SharedModel(load, max_new_tokens=3)

    for place in (lambda: shared.generate("a", **settings), lambda: shared.reset_defaults(**settings)):
        with pytest.raises(SettingRefused, match=says.replace("*", r"\*")) as refused:
            place()
        assert refused.value.field == next(iter(settings))
    assert (load.calls, dict(shared.defaults)) == (0, {"max_new_tokens": 3})


def test_a_text_is_wanted() -> None:
    with pytest.raises(SettingRefused, match="text must be a text, and this is list"):
        SharedModel(Loading()).generate(["a"])  # type: ignore[arg-type]
    with pytest.raises(SettingRefused, match="lone surrogate"):
        SharedModel(Loading()).generate("\ud800")


def test_the_template_cannot_be_written_to() -> None:
    words = [[3]]
    shared = SharedModel(Loading(), bad_words_ids=words)
    words.append([4])

    assert shared.defaults == {"bad_words_ids": ((3,),)}
    with pytest.raises(TypeError):
        shared.defaults["top_k"] = 1  # type: ignore[index]


@pytest.fixture(scope="module")
def tiny() -> Any:
    return causal()


@pytest.mark.models
class TestRealModel:
    """A tiny model of transformers with weights drawn at random: any change of a setting shows in its tokens."""

    def test_the_broken_pattern_is_right_once_and_wrong_ever_after(self, tiny: Any) -> None:
        """Written as public servers have it: the request's parameters go into the configuration that all share."""
        model, tokenizer = causal()

        def broken(text: str, **settings: Any) -> str:
            for name, value in settings.items():
                setattr(model.generation_config, name, value)
            prompt = tokenizer(text, return_tensors="pt")
            answered = model.generate(**prompt)[0, prompt["input_ids"].shape[1] :]
            return str(tokenizer.decode(answered, skip_special_tokens=True))

        shared = SharedModel(lambda: tiny)
        plain, loud = {"max_new_tokens": 8}, {"max_new_tokens": 8, "repetition_penalty": 1.9}

        first, _, inherited = broken("abc", **plain), broken("abc", **loud), broken("abc", **plain)
        right = [shared.generate("abc", **each) for each in (plain, loud, plain)]

        assert first != inherited
        assert [first, right[2]] == [right[0], right[0]]
        assert right[1] == inherited

    def test_settings_in_a_row_never_change_the_defaults(self, tiny: Any) -> None:
        shared = SharedModel(lambda: tiny, max_new_tokens=7)
        before = tiny[0].generation_config.to_dict()
        plain = shared.generate("ab")

        for settings in REQUESTS:
            shared.generate("ab", **settings)

        assert shared.generate("ab") == plain
        assert tiny[0].generation_config.to_dict() == before

    def test_thirty_two_threads_give_what_each_gives_alone(self, tiny: Any) -> None:
        shared = SharedModel(lambda: tiny, max_new_tokens=7)
        asked = [REQUESTS[place % len(REQUESTS)] for place in range(32)]
        alone = [shared.generate("abc", **each) for each in REQUESTS]

        with ThreadPoolExecutor(32) as pool:
            together = list(pool.map(lambda settings: shared.generate("abc", **settings), asked))

        assert together == [alone[place % len(REQUESTS)] for place in range(32)]
        assert len(set(alone)) > 5

    def test_a_seed_leaves_the_generator_that_all_share_alone(self, tiny: Any) -> None:
        import torch

        before = torch.get_rng_state()
        answers = [
            SharedModel(lambda: tiny).generate("a", do_sample=True, seed=seed, max_new_tokens=8) for seed in (1, 1, 2)
        ]

        assert answers[0] == answers[1] != answers[2]
        assert torch.equal(torch.get_rng_state(), before)

    def test_it_draws_as_often_as_the_library_does(self, tiny: Any) -> None:
        """One token drawn many times: shares are those of the scores after temperature and top_k."""
        import torch

        model, tokenizer = tiny
        ids = tokenizer("ab", return_tensors="pt")["input_ids"]
        with torch.no_grad():
            scores = model(ids).logits[0, -1] / 0.5
        likely = {int(place): float(share) for share, place in zip(*_softmax(scores.topk(3)), strict=True)}
        shared = SharedModel(lambda: tiny, do_sample=True, temperature=0.5, top_k=3, max_new_tokens=1)
        count = 150

        drawn = [tokenizer(shared.generate("ab", seed=seed))["input_ids"][0] for seed in range(count)]

        for token, share in likely.items():
            assert abs(drawn.count(token) / count - share) < 0.13

    def test_new_defaults_hold_for_later_requests_only(self, tiny: Any) -> None:
        class Pausing:
            """The model, whose answer waits until somebody has changed the defaults."""

            def __init__(self) -> None:
                self.begun, self.may_go_on = threading.Event(), threading.Event()

            def __getattr__(self, name: str) -> Any:
                return getattr(tiny[0], name)

            def generate(self, **arguments: Any) -> Any:
                self.begun.set()
                assert self.may_go_on.wait(20)
                return tiny[0].generate(**arguments)

        pausing = Pausing()
        shared = SharedModel(lambda: (pausing, tiny[1]), max_new_tokens=2)
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(shared.generate, "ab")
            assert pausing.begun.wait(20)
            shared.reset_defaults(max_new_tokens=9)
            pausing.may_go_on.set()
            earlier = running.result(20)
        later = shared.generate("ab")

        assert (len(earlier), len(later)) == (2, 9)

    @pytest.mark.parametrize(
        ("text", "settings", "field", "says"),
        [
            ("", {}, "text", "at least one token"),
            ("a" * 64, {}, "text", "has 64 tokens, and this model takes 63"),
            ("a", {"bad_words_ids": [[3], [4, 99]]}, "bad_words_ids", "holds 99"),
        ],
    )
    def test_what_the_model_cannot_take_is_the_clients_fault(
        self, tiny: Any, text: str, settings: dict[str, Any], field: str, says: str
    ) -> None:
        with pytest.raises(SettingRefused, match=says) as refused:
            SharedModel(lambda: tiny, max_new_tokens=2).generate(text, **settings)
        assert refused.value.field == field

    def test_stop_strings_end_an_answer(self, tiny: Any) -> None:
        shared = SharedModel(lambda: tiny, max_new_tokens=9)
        whole = shared.generate("ab")
        stop = whole[1:3]

        assert shared.generate("ab", stop_strings=[stop]).endswith(stop)
        assert len(shared.generate("ab", stop_strings=[stop])) == whole.index(stop) + 2


def _softmax(top: Any) -> tuple[Any, Any]:
    return top.values.softmax(-1), top.indices


@pytest.mark.models
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_real_language_model_answers_each_as_alone() -> None:
    shared = SharedModel(from_pretrained(model_folder()), max_new_tokens=7)
    tokenizer = shared.get()[1]
    question = [{"role": "user", "content": "What is the capital of France?"}]
    text = tokenizer.apply_chat_template(question, add_generation_prompt=True, tokenize=False)
    asked: list[dict[str, Any]] = [{}, {"repetition_penalty": 1.8}, {"do_sample": True, "seed": 5, "temperature": 1.5}]
    alone = [shared.generate(text, **settings) for settings in asked]

    with ThreadPoolExecutor(len(asked)) as pool:
        together = list(pool.map(lambda settings: shared.generate(text, **settings), asked))

    assert together == alone
    assert "Paris" in alone[0]
    assert len(set(alone)) == 3


@pytest.mark.models
def test_the_reproduction_of_the_guide_shows_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    guide = (Path(__file__).parents[3] / "docs" / "guides" / "shared-models.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", guide, re.DOTALL)
    (reproduction,) = [block for block in blocks if "torch.manual_seed(7)" in block]
    import torch

    with torch.random.fork_rng():
        exec(compile(reproduction, "shared-models.md", "exec"), {})

    assert capsys.readouterr().out == "the same question, the same settings: another answer\n"
