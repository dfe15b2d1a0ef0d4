from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest

from inference_dna.canonical import Refused, canonical
from inference_dna.measure.generation import read_generation
from tests.unit.inference_dna.measure.conftest import Loaded

pytestmark = pytest.mark.models


@pytest.fixture
def model(smollm2: Loaded) -> Iterator[Any]:
    """The real model; what a test does to its generation defaults is put back."""
    kept = deepcopy(smollm2.model.generation_config)
    yield smollm2.model
    smollm2.model.generation_config = kept


def test_what_the_file_does_not_say_is_the_librarys_default(model: Any, smollm2: Loaded) -> None:
    read = read_generation(model, smollm2.tokenizer, defaults={})

    assert read.values["do_sample"] is False
    assert read.values["temperature"] == 1.0
    assert read.values["num_beams"] == 1
    assert read.values["eos_token_ids"] == [2]
    assert read.values["mode"] == "greedy_search"
    assert read.processors == ()
    assert [type(each).__name__ for each in read.criteria] == ["MaxLengthCriteria", "EosTokenCriteria"]
    assert "transformers_version" not in read.values
    canonical(read.values)


def test_the_workers_defaults_win_over_the_files(model: Any, smollm2: Loaded) -> None:
    model.generation_config.temperature = 0.7
    model.generation_config.do_sample = True

    of_file = read_generation(model, smollm2.tokenizer, defaults={})
    of_worker = read_generation(model, smollm2.tokenizer, defaults={"temperature": 0.2, "top_p": 0.9})

    assert (of_file.values["temperature"], of_worker.values["temperature"]) == (0.7, 0.2)
    assert [type(each).__name__ for each in of_file.processors] == ["TemperatureLogitsWarper", "TopKLogitsWarper"]
    assert [type(each).__name__ for each in of_worker.processors][-1] == "TopPLogitsWarper"


def test_one_temperature_is_one_float_however_it_was_written(model: Any, smollm2: Loaded) -> None:
    values = [
        read_generation(model, smollm2.tokenizer, defaults={"do_sample": True, "temperature": written}).values
        for written in (1, 1.0)
    ]

    assert canonical(values[0]) == canonical(values[1])


def test_stop_ids_are_a_set(model: Any, smollm2: Loaded) -> None:
    one = read_generation(model, smollm2.tokenizer, defaults={"eos_token_id": 2})
    two = read_generation(model, smollm2.tokenizer, defaults={"eos_token_id": [7, 2]})
    turned = read_generation(model, smollm2.tokenizer, defaults={"eos_token_id": [2, 7]})

    assert one.values["eos_token_ids"] == [2]
    assert two.values["eos_token_ids"] == turned.values["eos_token_ids"] == [2, 7]


def test_stop_strings_and_bad_words_are_told(model: Any, smollm2: Loaded) -> None:
    read = read_generation(
        model, smollm2.tokenizer, defaults={"stop_strings": ["\n\n"], "bad_words_ids": [[5, 6]], "max_new_tokens": 16}
    )

    assert read.values["stop_strings"] == ["\n\n"]
    assert read.values["bad_words_ids"] == [[5, 6]]
    assert read.values["max_new_tokens"] == 16
    assert "StopStringCriteria" in [type(each).__name__ for each in read.criteria]
    assert read.values["max_length"] == 17


def test_stop_strings_of_the_model_hold_where_the_worker_has_none(model: Any, smollm2: Loaded) -> None:
    import transformers

    configuration: Any = transformers.GenerationConfig
    model.generation_config.stop_strings = "END"

    of_model = read_generation(model, smollm2.tokenizer, defaults={})
    of_worker = read_generation(
        model, smollm2.tokenizer, defaults={"generation_config": configuration(stop_strings=["STOP"])}
    )

    assert of_model.values["stop_strings"] == ["END"]
    assert of_worker.values["stop_strings"] == ["STOP"]


def test_own_processors_stand_where_they_run(model: Any, smollm2: Loaded) -> None:
    from transformers import LogitsProcessor

    class Own(LogitsProcessor):
        def __call__(self, input_ids: Any, scores: Any) -> Any:
            return scores

    read = read_generation(
        model, smollm2.tokenizer, defaults={"do_sample": True, "temperature": 0.5, "no_repeat_ngram_size": 3},
        processors=[Own()],
    )  # fmt: skip

    names = [type(each).__name__ for each in read.processors]
    assert names == ["NoRepeatNGramLogitsProcessor", "Own", "TemperatureLogitsWarper", "TopKLogitsWarper"]


def test_a_model_with_an_encoder_is_asked() -> None:
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(vocab_size=32, d_model=8, d_ff=8, d_kv=8, num_layers=1, num_heads=1, pad_token_id=0)
    model = T5ForConditionalGeneration(config)
    model.generation_config.decoder_start_token_id = 0

    read = read_generation(model, None, defaults={"num_beams": 4})

    assert (read.values["mode"], read.values["num_beams"]) == ("beam_search", 4)


def test_a_model_that_reads_no_tokens_is_asked_with_its_own_input() -> None:
    import torch
    from transformers import Speech2TextConfig, Speech2TextForConditionalGeneration

    config = Speech2TextConfig(
        vocab_size=32, d_model=8, encoder_layers=1, decoder_layers=1, encoder_attention_heads=1, conv_channels=8,
        decoder_attention_heads=1, encoder_ffn_dim=8, decoder_ffn_dim=8, input_feat_per_channel=8, num_conv_layers=1,
        conv_kernel_sizes=(3,),
    )  # fmt: skip
    model = Speech2TextForConditionalGeneration(config)

    read = read_generation(model, None, defaults={"input_features": torch.zeros(1, 16, 8)})

    assert read.values["mode"] == "greedy_search"
    with pytest.raises(Refused, match="cannot be asked how it would decode"):
        read_generation(model, None, defaults={})


def test_asking_changes_nothing_and_computes_nothing(model: Any, smollm2: Loaded) -> None:
    before = model.generation_config.to_dict()
    calls: list[Any] = []
    handle = model.register_forward_hook(lambda *given: calls.append(given))

    read_generation(model, smollm2.tokenizer, defaults={"max_new_tokens": 8})

    handle.remove()
    assert model.generation_config.to_dict() == before
    assert calls == []


def test_a_request_the_library_refuses_is_refused(model: Any, smollm2: Loaded) -> None:
    with pytest.raises(Refused, match="cannot be asked how it would decode: ValueError"):
        read_generation(model, smollm2.tokenizer, defaults={"no_such_setting": 1})


def test_a_model_that_decodes_all_the_same_is_refused(model: Any, smollm2: Loaded) -> None:
    class Older:
        device = model.device
        main_input_name = "input_ids"
        generation_config = model.generation_config

        def generate(self, **_: Any) -> None:
            """A library before 5 has no way to hand over."""

    with pytest.raises(Refused, match="needs transformers 5"):
        read_generation(Older(), smollm2.tokenizer, defaults={})
