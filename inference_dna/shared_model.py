"""One model for a whole server, in place of a module-level singleton whose settings every request overwrites.

    from inference_dna.shared_model import SharedModel, from_pretrained

    shared = SharedModel(from_pretrained("models/v2.4.0"), max_new_tokens=256)
    answer = shared.generate("What is the capital of France?", repetition_penalty=1.3, max_new_tokens=32)

Invariants: the model is loaded once, by the first that needs it. A request's settings are merged into a value of its
own, from a template that nobody can change, and passed as arguments; `model.generation_config` is never written. Tokens
are drawn with a generator of random numbers that belongs to the request. docs/guides/shared-models.md has the why.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from pathlib import Path
from threading import Lock
from types import MappingProxyType
from typing import Any

from inference_dna.canonical import Refused
from inference_dna.extra import needing

Loaded = tuple[Any, Any]
"""A model of transformers that generates, and its tokenizer."""
Settings = Mapping[str, Any]
_SEED_BITS = 63
_LIBRARY_TOP_K = 50
"""What the library keeps of the likeliest tokens where nobody says how many."""


class SettingRefused(Refused):
    """A setting that is unknown, of another type or out of range: the client's fault. `field` names it."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


class LoadFailed(Exception):
    """The model could not be loaded; the message says why. The next request tries again."""


def from_pretrained(folder: str | Path, **how: Any) -> Callable[[], Loaded]:
    """Say how a folder is loaded, without doing it yet.

    Args:
        folder: What transformers loads.
        how: Further arguments for the model, such as `dtype` or `device_map`.
    """

    def load() -> Loaded:
        with needing("transformers", "models"):
            from transformers import AutoModelForCausalLM, AutoTokenizer
        model: Any = AutoModelForCausalLM.from_pretrained(folder, **how)
        return model.eval(), AutoTokenizer.from_pretrained(folder)

    return load


class SharedModel:
    """A model that any number of threads may use at once.

    Args:
        load: Gives model and tokenizer; called by the first that needs them.
        defaults: Settings of requests that do not say otherwise, as `generate` takes them. Where both are silent, what
            the model itself brings holds.

    Raises:
        SettingRefused: A default is none.
    """

    def __init__(self, load: Callable[[], Loaded], **defaults: Any) -> None:
        self._load = load
        self._lock = Lock()
        self._loading: Future[Loaded] | None = None
        self._tokenizing = Lock()
        self._template = _checked(defaults)

    @property
    def defaults(self) -> Settings:
        """The template of this moment; it cannot be written to."""
        return self._template

    def get(self) -> Loaded:
        """Give model and tokenizer; the first call loads them, calls meanwhile wait for it.

        Raises:
            LoadFailed: They cannot be loaded. All that waited are told; the next call tries again.
        """
        with self._lock:
            loading, is_first = self._loading or Future(), self._loading is None
            self._loading = loading
        if is_first:
            self._load_for_all(loading)
        try:
            return loading.result()
        except LoadFailed as failed:
            # An exception of one's own: threads that raise the same one write into each other's traceback.
            raise LoadFailed(str(failed)) from failed.__cause__

    def generate(self, text: str, **per_request: Any) -> str:
        """Continue a text; blocks, so call it in a thread where an event loop runs (`asyncio.to_thread`).

        Args:
            text: What the model continues; a conversation first goes through the tokenizer's chat template.
            per_request: Settings of this request alone: max_new_tokens, min_new_tokens, do_sample, temperature, top_k,
                top_p, repetition_penalty, no_repeat_ngram_size, bad_words_ids, stop_strings, seed. As in the library,
                temperature, top_k and top_p matter only with `do_sample=True`.

        Returns:
            The new text, without special tokens.

        Raises:
            SettingRefused: A setting is unknown, of another type or out of range, or `text` is no text, empty or too
                long for the model.
            LoadFailed: As `get`.
        """
        _check_text(text)
        settings = {**self._template, **_checked(per_request)}
        model, tokenizer = self.get()
        # Fast tokenizers set truncation and padding on themselves in each call, and fail when two threads do.
        with self._tokenizing:
            prompt = tokenizer(text, return_tensors="pt").to(model.device)
        _check_fit(model, prompt["input_ids"].shape[1], settings)
        answered = model.generate(**prompt, **_arguments(model, tokenizer, settings))
        new: str = tokenizer.decode(answered[0, prompt["input_ids"].shape[1] :], skip_special_tokens=True)
        return new

    def reset_defaults(self, **settings: Any) -> None:
        """Replace the whole template for requests that begin later; those that run keep theirs.

        Raises:
            SettingRefused: As `generate`; the template stays as it was.
        """
        self._template = _checked(settings)

    def _load_for_all(self, loading: Future[Loaded]) -> None:
        try:
            loaded = self._load()
        # Whatever it is, those who wait must not wait for ever.
        except BaseException as error:
            with self._lock:
                self._loading = None
            failed = LoadFailed(f"The model cannot be loaded: {type(error).__name__}: {error}")
            failed.__cause__ = error
            loading.set_exception(failed)
            if not isinstance(error, Exception):
                raise
        else:
            loading.set_result(loaded)


def _checked(settings: Settings) -> Settings:
    """A frozen copy of settings that are all known and in range."""
    for field, value in settings.items():
        if field not in _KINDS:
            raise SettingRefused(field, f"{field} is no setting; there are {', '.join(_KINDS)}.")
        wanted, fits = _KINDS[field]
        if not fits(value):
            raise SettingRefused(field, f"{field} must be {wanted}, and this is {value!r}.")
    return MappingProxyType({field: _frozen(value) for field, value in settings.items()})


def _check_text(text: object) -> None:
    if not isinstance(text, str):
        raise SettingRefused("text", f"text must be a text, and this is {type(text).__name__}.")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise SettingRefused("text", "text holds half a character (a lone surrogate).") from error


def _check_fit(model: Any, length: int, settings: Settings) -> None:
    """Refuse what the library would fail on, or answer with nonsense: prompts and ids that the model does not have."""
    config = model.config.get_text_config()
    longest = getattr(config, "max_position_embeddings", math.inf)
    if length == 0:
        raise SettingRefused("text", "text must hold at least one token.")
    if length >= longest:
        raise SettingRefused("text", f"text has {length} tokens, and this model takes {longest - 1}.")
    unknown = [token for word in settings.get("bad_words_ids", ()) for token in word if token >= config.vocab_size]
    if unknown:
        raise SettingRefused("bad_words_ids", f"bad_words_ids holds {unknown[0]}, which is no token of this model.")


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list | tuple) else value


def _thawed(value: Any) -> Any:
    """The library asks for lists; each request gets new ones."""
    return list(map(_thawed, value)) if isinstance(value, tuple) else value


def _arguments(model: Any, tokenizer: Any, settings: Settings) -> dict[str, Any]:
    """What the library is called with: values of this request alone."""
    arguments = {field: _thawed(value) for field, value in settings.items() if field not in _DRAWN_BY}
    if "stop_strings" in arguments:
        arguments["tokenizer"] = tokenizer
    if _effective(model, settings, "do_sample", False):
        # The library draws from a generator that all threads share; a processor that leaves one token does not.
        arguments["logits_processor"] = [_Draw(model, settings)]
    return {**arguments, "do_sample": False}


def _effective(model: Any, settings: Settings, field: str, otherwise: Any) -> Any:
    """The request's value, else the model's own, else the library's."""
    value = settings.get(field, getattr(model.generation_config, field, None))
    return otherwise if value is None else value


class _Draw:
    """Draws each token of one request: leaves the drawn one as the only one that can be taken."""

    def __init__(self, model: Any, settings: Settings) -> None:
        import torch

        self._generator = torch.Generator(device=model.device)
        self._generator.manual_seed(settings.get("seed", secrets.randbits(_SEED_BITS)))
        self._warpers = _warpers(model, settings)

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        import torch

        for warper in self._warpers:
            scores = warper(input_ids, scores)
        drawn = torch.multinomial(torch.softmax(scores.float(), dim=-1), 1, generator=self._generator)
        return torch.full_like(scores, -math.inf).scatter(1, drawn, 0.0)


def _warpers(model: Any, settings: Settings) -> list[Any]:
    """The library's own, in its order."""
    from transformers import TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

    temperature = float(_effective(model, settings, "temperature", 1.0))
    top_k = _effective(model, settings, "top_k", _LIBRARY_TOP_K)
    top_p = float(_effective(model, settings, "top_p", 1.0))
    warpers: list[Any] = []
    if temperature != 1.0:
        warpers.append(TemperatureLogitsWarper(temperature))
    if top_k:
        warpers.append(TopKLogitsWarper(top_k))
    if top_p < 1.0:
        warpers.append(TopPLogitsWarper(top_p))
    return warpers


_Kind = tuple[str, Callable[[Any], bool]]
"""What a value must be, as a sentence goes on and as a question."""


def _whole(least: int) -> _Kind:
    return f"an integer of at least {least}", lambda value: _is_whole(value) and value >= least


def _number(least: float, most: float, *, above: bool = False) -> _Kind:
    return (
        f"a number {'above' if above else 'from'} {least:g} {'and at most' if above else 'to'} {most:g}",
        lambda value: (
            isinstance(value, int | float)
            and not isinstance(value, bool)
            and least <= value <= most
            and not (above and value == least)
        ),
    )


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _all(value: Any, fits: Callable[[Any], bool]) -> bool:
    return isinstance(value, list | tuple) and len(value) > 0 and all(map(fits, value))


def _are_ids(value: Any) -> bool:
    return _all(value, lambda token: _is_whole(token) and token >= 0)


_KINDS: Mapping[str, _Kind] = {
    "max_new_tokens": _whole(1),
    "min_new_tokens": _whole(0),
    "do_sample": ("true or false", lambda value: isinstance(value, bool)),
    "temperature": _number(0.001, 100),
    "top_k": _whole(0),
    "top_p": _number(0, 1, above=True),
    "repetition_penalty": _number(0, 100, above=True),
    "no_repeat_ngram_size": _whole(0),
    "bad_words_ids": ("lists of token ids", lambda value: _all(value, _are_ids)),
    "stop_strings": ("texts", lambda value: _all(value, lambda text: isinstance(text, str) and text != "")),
    "seed": (
        f"an integer from 0 to 2**{_SEED_BITS} - 1",
        lambda value: _is_whole(value) and 0 <= value < 2**_SEED_BITS,
    ),
}
_DRAWN_BY = frozenset({"do_sample", "temperature", "top_k", "top_p", "seed"})
"""Settings that a draw of ours carries out; the library is not told of them."""
