"""One face for the tokenizers that workers hold: transformers, tokenizers, sentencepiece, or any function.

No library is imported here: an object is told by the module its class comes from, and asked through its own methods.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

from inference_dna.canonical import Json, Refused
from inference_dna.digest import ALGORITHM
from inference_dna.measure.tokenizer import Encode, RenderChat

_INT64_END = 2**63


@dataclass(frozen=True, slots=True)
class LiveTokenizer:
    """A loaded tokenizer: the paths that requests take, its special tokens, and what it is set to.

    `render_chat` and `bos_id` are None where there is no chat path, or no token that begins a sequence.
    """

    kind: str
    encode: Encode
    special_tokens: Mapping[str, int] = field(default_factory=dict)
    render_chat: RenderChat | None = None
    bos_id: int | None = None
    settings: Mapping[str, Json] = field(default_factory=dict)
    evidence: Mapping[str, Json] = field(default_factory=dict)

    def with_paths(self, encode: Encode, render_chat: RenderChat | None) -> LiveTokenizer:
        """The same tokenizer behind the paths that a worker's requests take."""
        return replace(self, encode=_asked(encode), render_chat=None if render_chat is None else _asked(render_chat))


def live_tokenizer(tokenizer: Any) -> LiveTokenizer:
    """Take a tokenizer of any of the known libraries, or a function from text to ids.

    Raises:
        Refused: It is none of these, or does not tell what others of its library tell.
    """
    for family in type(tokenizer).__mro__:
        module = family.__module__.partition(".")[0]
        if module in _FAMILIES:
            return _taken(_FAMILIES[module], tokenizer)
    if callable(tokenizer):
        return of_function(tokenizer)
    raise Refused(f"A {type(tokenizer).__qualname__} is no tokenizer; give one of a known library, or a function.")


def of_transformers(tokenizer: Any) -> LiveTokenizer:
    """Take a tokenizer of transformers, fast or slow. Its template, where it has one, is the chat path."""
    # Each call sets how the library below cuts and pads; this one puts it back, whatever the last request asked for.
    tokenizer("")
    backend = getattr(tokenizer, "backend_tokenizer", None)
    template = getattr(tokenizer, "chat_template", None)
    return LiveTokenizer(
        kind="huggingface-slow" if backend is None else "huggingface-fast",
        encode=_asked(lambda text: tokenizer(text)["input_ids"]),
        special_tokens=_special_of(tokenizer.added_tokens_decoder),
        render_chat=None if template is None else _asked(_chat_path(tokenizer)),
        bos_id=tokenizer.bos_token_id,
        settings={
            "class": type(tokenizer).__name__,
            "add_special_tokens": True,
            "max_length": _bounded(tokenizer.model_max_length),
            "padding_side": tokenizer.padding_side,
            "truncation_side": tokenizer.truncation_side,
            "split_special_tokens": bool(getattr(tokenizer, "split_special_tokens", False)),
            "chat_template": _template_digest(template),
        },
        evidence={
            "class": f"{type(tokenizer).__module__}.{type(tokenizer).__qualname__}",
            "vocab_size": len(tokenizer),
            **(_backend_evidence(backend) if backend is not None else {}),
        },
    )


def of_tokenizers(tokenizer: Any) -> LiveTokenizer:
    """Take a `tokenizers.Tokenizer`. It has no chat path."""
    return LiveTokenizer(
        kind="huggingface-fast",
        encode=_asked(lambda text: tokenizer.encode(text).ids),
        special_tokens=_special_of(tokenizer.get_added_tokens_decoder()),
        settings={
            "add_special_tokens": True,
            "truncation": _plain(tokenizer.truncation),
            "padding": _plain(tokenizer.padding),
        },
        evidence={"vocab_size": tokenizer.get_vocab_size(), **_backend_evidence(tokenizer)},
    )


def of_sentencepiece(processor: Any) -> LiveTokenizer:
    """Take a `SentencePieceProcessor`. Control pieces are its special tokens."""
    pieces = range(processor.vocab_size())
    return LiveTokenizer(
        kind="sentencepiece",
        encode=_asked(lambda text: processor.encode(text, out_type=int)),
        special_tokens={processor.id_to_piece(piece): piece for piece in pieces if processor.is_control(piece)},
        bos_id=processor.bos_id() if processor.bos_id() >= 0 else None,
        settings={"unk_id": processor.unk_id(), "eos_id": processor.eos_id()},
        evidence={
            "vocab_size": processor.vocab_size(),
            "content": ALGORITHM + sha256(processor.serialized_model_proto()).hexdigest(),
        },
    )


def of_function(encode: Callable[[str], Sequence[int]]) -> LiveTokenizer:
    """Take a function from text to ids, the path of an engine nobody can look into."""
    return LiveTokenizer(kind="function", encode=_asked(encode))


_FAMILIES: dict[str, Callable[[Any], LiveTokenizer]] = {
    "transformers": of_transformers,
    "tokenizers": of_tokenizers,
    "sentencepiece": of_sentencepiece,
}


def _taken(family: Callable[[Any], LiveTokenizer], tokenizer: Any) -> LiveTokenizer:
    try:
        return family(tokenizer)
    except AttributeError as error:
        raise Refused(
            f"A {type(tokenizer).__qualname__} does not tell its {error.name}; give a function from text to ids."
        ) from error


def _asked(encode: Callable[[Any], Sequence[int]]) -> Callable[[Any], Sequence[int]]:
    """Turn whatever the library raises into ours: a probe that cannot run is no measurement."""

    def ask(asked: Any) -> Sequence[int]:
        try:
            return list(encode(asked))
        except Refused:  # by a path that asks another one of ours
            raise
        # Each library fails in ways of its own, bare exceptions of its compiled parts among them.
        except Exception as error:
            raise Refused(f"The tokenizer failed on {_shown(asked)}: {type(error).__name__}: {error}.") from error

    return ask


def _chat_path(tokenizer: Any) -> RenderChat:
    def render(conversation: Sequence[Mapping[str, str]]) -> Sequence[int]:
        return list(
            tokenizer.apply_chat_template(
                [dict(message) for message in conversation],
                tokenize=True,
                add_generation_prompt=True,
                return_dict=True,
            )["input_ids"]
        )

    return render


def _special_of(added: Mapping[int, Any]) -> dict[str, int]:
    return {token.content: number for number, token in added.items() if token.special}


def _bounded(length: object) -> int | None:
    """A length that was never set is a very large number in transformers: no limit, which is null."""
    return length if type(length) is int and length < _INT64_END else None


def _template_digest(template: str | Mapping[str, str] | None) -> Json:
    """The template in effect, which may come from a file, from the configuration or from an argument."""
    if template is None:
        return None
    if isinstance(template, str):
        return ALGORITHM + sha256(template.encode()).hexdigest()
    return {name: _template_digest(text) for name, text in template.items()}


def _plain(settings: Mapping[str, Any] | None) -> Json:
    return {name: settings[name] for name in sorted(settings)} if settings else None


def _backend_evidence(backend: Any) -> dict[str, Json]:
    # What the library holds, written in its own one way: equal for two files that differ in spacing only.
    return {"content": ALGORITHM + sha256(backend.to_str().encode()).hexdigest()}


def _shown(asked: object) -> str:
    return ascii(asked) if isinstance(asked, str) else "the probe conversation"
