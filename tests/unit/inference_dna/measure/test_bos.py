from __future__ import annotations

import pytest

from inference_dna.canonical import Refused
from inference_dna.measure.bos import bos_counts, bos_faults
from inference_dna.measure.live_tokenizer import LiveTokenizer, live_tokenizer
from tests.unit.inference_dna.measure.conftest import Loaded

BOS = 1


def tokenizer(*, completion: int, chat: int) -> LiveTokenizer:
    """A tokenizer whose two paths begin with that many tokens; the same token stands inside the text as well."""
    return LiveTokenizer(
        "function",
        encode=lambda text: [*[BOS] * completion, 7, BOS, 8],
        render_chat=lambda conversation: [*[BOS] * chat, 9],
        bos_id=BOS,
    )


@pytest.mark.parametrize(
    ("completion", "chat", "expected", "faults"),
    [
        pytest.param(1, 1, 1, (), id="once-everywhere"),
        pytest.param(
            1, 2, 1, ("The path chat begins a sequence with 2 such tokens, the model needs 1.",), id="template-and-path"
        ),
        pytest.param(
            0, 1, 1, ("The path completion begins a sequence with 0 such tokens, the model needs 1.",), id="missing"
        ),
        pytest.param(0, 0, 0, (), id="a-model-without"),
    ],
)
def test_each_path_is_counted(completion: int, chat: int, expected: int, faults: tuple[str, ...]) -> None:
    counts = bos_counts(tokenizer(completion=completion, chat=chat))

    assert counts == {"completion": completion, "chat": chat}
    assert bos_faults(counts, expected) == faults


def test_further_paths_are_counted_by_name() -> None:
    counts = bos_counts(tokenizer(completion=1, chat=1), {"offline": lambda text: [BOS, BOS, BOS]})

    assert counts == {"completion": 1, "chat": 1, "offline": 3}


def test_a_model_without_such_a_token() -> None:
    live = live_tokenizer(lambda text: [5])

    assert bos_counts(live) is None
    assert bos_counts(LiveTokenizer("function", encode=live.encode, bos_id=5)) == {"completion": 1}
    assert bos_faults(None, 0) == ()
    assert bos_faults(None, 1) == ("The tokenizer has no token that begins a sequence, and the model needs one.",)


def test_a_path_that_fails_is_refused() -> None:
    live = LiveTokenizer("function", encode=live_tokenizer(lambda text: [len("")]).encode, bos_id=BOS)
    live = live.with_paths(lambda text: [int(text)], None)

    with pytest.raises(Refused, match="failed on"):
        bos_counts(live)


@pytest.mark.models
def test_a_server_that_renders_and_then_encodes_doubles_the_token(smollm2: Loaded) -> None:
    """The template begins with the token, and a path that adds it as well has two."""
    live = live_tokenizer(smollm2.tokenizer)
    rendered = smollm2.tokenizer.apply_chat_template([{"role": "user", "content": "x"}], tokenize=False)

    counts = bos_counts(live, {"doubling": lambda text: [BOS, *live.encode(rendered)]})

    assert counts == {"completion": 0, "chat": 1, "doubling": 2}
    assert bos_faults(counts, 1)[1].startswith("The path doubling begins a sequence with 2")
