"""Binds a model and its post-processing into one file, `generator_<version>.ts`, that reads nothing from outside.

TorchScript compiles the settings in as constants: neither the environment, nor a configuration store, nor a request can
change them, and the digest of the weights covers them. Chance comes in as an argument, so that the same file, input and
draws give the same tokens. The whole sequence is computed anew for each token: this binds, it does not race.
"""

from __future__ import annotations

import json
import warnings
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from inference_dna.canonical import Json, Refused
from inference_dna.files import FileEntry
from inference_dna.measure.code.reads import Read
from inference_dna.measure.code.script import script_reads
from inference_dna.measure.generation import Generation
from inference_dna.measure.reading import read_content, reading_errors
from inference_dna.version_text import version_text

_SETTINGS_FILE = "postprocess.json"
_ROOT = "generator"
_ALIGNMENT = 64
"""PyTorch maps tensors at multiples of this many bytes; what it writes keeps to it, and so does the copy."""
_LOCAL_HEADER_BYTES, _EXTRA_HEADER_BYTES = 30, 4
_PADDING_ID = 0x4246
_UNBOUND = {
    "num_beams": 1, "num_return_sequences": 1, "no_repeat_ngram_size": 0, "encoder_no_repeat_ngram_size": 0,
    "encoder_repetition_penalty": 1.0, "length_penalty": 1.0, "min_length": 0, "min_new_tokens": None, "min_p": None,
    "top_h": None, "typical_p": 1.0, "epsilon_cutoff": 0.0, "eta_cutoff": 0.0, "guidance_scale": None,
    "stop_strings": None, "max_time": None, "bad_words_ids": None, "sequence_bias": None, "suppress_tokens": None,
    "begin_suppress_tokens": None, "forced_bos_token_id": None, "forced_eos_token_id": None,
    "exponential_decay_length_penalty": None, "renormalize_logits": False, "remove_invalid_values": False,
    "watermarking_config": None, "prompt_lookup_num_tokens": None,
}  # fmt: skip
"""Settings that are not compiled in, with the value at which they do nothing; any other is refused, never dropped."""


@dataclass(frozen=True, slots=True)
class BoundSettings:
    """What is compiled in. Without `do_sample` the likeliest token is taken and `draws` are not looked at.

    `top_k` 0, `top_p`, `temperature` and `repetition_penalty` 1.0 do nothing. `banned_ids` never come out.
    """

    max_new_tokens: int
    stop_ids: tuple[int, ...]
    do_sample: bool = False
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    repetition_penalty: float = 1.0
    banned_ids: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.max_new_tokens < 1 or self.top_k < 0 or not 0 < self.top_p <= 1:
            raise Refused("max_new_tokens must be at least 1, top_k at least 0, top_p above 0 and at most 1.")
        if self.temperature <= 0 or self.repetition_penalty <= 0:
            raise Refused("temperature and repetition_penalty must be above 0.")

    def document(self) -> dict[str, Json]:
        """The settings as they stand in the archive."""
        return {**asdict(self), "stop_ids": list(self.stop_ids), "banned_ids": list(self.banned_ids)}


def bound_settings(generation: Generation, *, max_new_tokens: int | None = None) -> BoundSettings:
    """Take the effective values of a loaded model.

    Args:
        generation: As `read_generation` gives it.
        max_new_tokens: Needed where the model states none.

    Raises:
        Refused: A value is in effect that would not be compiled in, or no length is stated.
    """
    values = generation.values
    for name, idle in _UNBOUND.items():
        if values.get(name) not in (None, idle):
            raise Refused(f"The setting {name} is {values[name]!r}, which a packed generator does not carry; unset it.")
    length = max_new_tokens or values.get("max_new_tokens")
    if not isinstance(length, int):
        raise Refused("Neither the model nor the call states max_new_tokens; a packed generator needs it.")
    return BoundSettings(
        max_new_tokens=length,
        stop_ids=tuple(_ids(values.get("eos_token_ids"))),
        do_sample=bool(values.get("do_sample")),
        temperature=_number(values.get("temperature")),
        top_k=int(_number(values.get("top_k"), 0)) if values.get("do_sample") else 0,
        top_p=_number(values.get("top_p")),
        repetition_penalty=_number(values.get("repetition_penalty")),
    )


def pack_generator(
    model: Any, settings: BoundSettings, *, version: str, target: Path, processor: Any = None
) -> FileEntry:
    """Write `generator_<version>.ts`: `forward(ids [1, n], draws [max_new_tokens]) -> new ids [1, m]`.

    Args:
        model: A model of transformers, or a module from ids [1, n] to scores [1, n, vocabulary].
        settings: What is compiled in.
        version: The model's version.
        target: The folder to write into.
        processor: Own module from scores [1, vocabulary] and ids [1, n] to scores; it must compile and runs first.

    Raises:
        Refused: The model or the processor cannot be compiled, answers otherwise once compiled, or reads anything from
            outside: then nothing is written.
    """
    name = f"generator_{version_text(version)}.ts"
    fresh = target / f".{name}"
    try:
        with reading_errors(f"or writing the generator {name!a}"):
            _save(_compiled(model, settings, processor), settings, fresh)
            reads = script_reads(fresh)
            if reads:
                raise Refused(f"The post-processing is not bound to the model. {_listed(reads)}")
            fresh.replace(target / name)
            with (target / name).open("rb") as stream:
                return read_content(stream, name, keep=False).entry
    finally:
        fresh.unlink(missing_ok=True)


def check_generator(archive: Path) -> Mapping[str, Json]:
    """Check that a packed generator reads nothing from outside, and say what is compiled in.

    Raises:
        Refused: It reads something, is no archive, or does not say its settings.
    """
    reads = script_reads(archive)
    if reads:
        raise Refused(f"The post-processing in {archive.name!a} is not bound to the model. {_listed(reads)}")
    try:
        with zipfile.ZipFile(archive) as members:
            settings = json.loads(members.read(f"{_ROOT}/extra/{_SETTINGS_FILE}"))
    except (KeyError, ValueError) as error:
        raise Refused(f"The archive {archive.name!a} does not say which settings are compiled in.") from error
    return dict(settings)


def _listed(reads: Sequence[Read]) -> str:
    return " ".join(f"{read}." for read in reads)


def _ids(value: Json) -> list[int]:
    return [int(token) for token in value if isinstance(token, int)] if isinstance(value, list) else []


def _number(value: Json, idle: float = 1.0) -> float:
    return float(value) if isinstance(value, int | float) else idle


def _compiled(model: Any, settings: BoundSettings, processor: Any) -> Any:
    import torch

    with warnings.catch_warnings(), torch.no_grad():
        # Tracing warns of every branch it settles; what matters is checked below, on another length.
        warnings.simplefilter("ignore")
        try:
            scores = _traced(model)
            generator = _generator(scores, settings, processor)
            return torch.jit.script(generator.eval())
        except Refused:
            raise
        # The compiler refuses with whatever its parts raise.
        except Exception as error:
            raise Refused(f"The generator cannot be compiled: {type(error).__name__}: {error}") from error


def _traced(model: Any) -> Any:
    """The model as a graph from ids to scores, sure that it does not depend on the length it was traced with."""
    import torch

    if isinstance(model, torch.jit.ScriptModule):
        return model
    eager = _scores_of(model).eval()
    device = next(eager.parameters()).device
    # Small ids, which every vocabulary has.
    short, long = ((torch.arange(length, device=device) % 3).unsqueeze(0) for length in (5, 11))
    trace: Any = torch.jit.trace
    traced = trace(eager, (short,), check_trace=False)
    for ids in (short, long, long[:, :1]):
        if not torch.equal(traced(ids), eager(ids)):
            raise Refused(f"The model answers otherwise once compiled, at a length of {ids.shape[1]} tokens.")
    return traced


def _scores_of(model: Any) -> Any:
    import torch

    class Scores(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            scores: torch.Tensor = self.model(input_ids=ids, use_cache=False).logits
            return scores

    return Scores() if hasattr(model, "generation_config") else model


def _generator(scores: Any, settings: BoundSettings, processor: Any) -> Any:
    """The loop around the model.

    Classes stand inside functions, since a class needs the library to be defined. What they hold runs compiled, which
    is why coverage never sees it.
    """
    import torch

    class Generator(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = scores
            self.processor = processor or _unchanged()
            self.adjust = _adjustment(settings)
            self.choose = _choice(settings)
            self.max_new_tokens = settings.max_new_tokens
            self.stop_ids = torch.jit.Attribute(list(settings.stop_ids), list[int])

        def forward(self, ids: torch.Tensor, draws: torch.Tensor) -> torch.Tensor:  # pragma: no cover
            known = ids
            with torch.no_grad():
                for place in range(self.max_new_tokens):
                    scores = self.model(known)[:, -1].float()
                    scores = self.adjust(self.processor(scores, known), known)
                    token = self.choose(scores, draws, place)
                    known = torch.cat([known, token], dim=1)
                    if int(token.item()) in self.stop_ids:
                        break
            return known[:, ids.size(1) :]

    return Generator()


def _unchanged() -> Any:
    import torch

    class Unchanged(torch.nn.Module):
        def forward(self, scores: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:  # pragma: no cover
            return scores

    return Unchanged()


def _adjustment(settings: BoundSettings) -> Any:
    """What is done to the scores whether the token is drawn or not: the penalty for what was said, banned tokens."""
    import torch

    class Adjustment(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.repetition_penalty = settings.repetition_penalty
            self.banned_ids = torch.jit.Attribute(list(settings.banned_ids), list[int])

        def forward(self, scores: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:  # pragma: no cover
            if self.repetition_penalty != 1.0:
                seen = torch.gather(scores, 1, ids)
                seen = torch.where(seen < 0, seen * self.repetition_penalty, seen / self.repetition_penalty)
                scores = scores.scatter(1, ids, seen)
            for token in self.banned_ids:
                scores[:, token] = -float("inf")
            return scores

    return Adjustment()


def _choice(settings: BoundSettings) -> Any:
    """The likeliest token, or the one that a draw in [0, 1) falls on among those that are likely enough."""
    import torch

    class Choice(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.do_sample = settings.do_sample
            self.temperature = settings.temperature
            self.top_k = settings.top_k
            self.top_p = settings.top_p

        def forward(self, scores: torch.Tensor, draws: torch.Tensor, place: int) -> torch.Tensor:  # pragma: no cover
            if not self.do_sample:
                return torch.argmax(scores, dim=-1, keepdim=True)
            # Likeliest first and equals in their order, so that one draw always falls on one token.
            likely = torch.softmax(self.narrowed(scores / self.temperature), dim=-1)
            ordered, places = torch.sort(likely, descending=True, stable=True)
            passed = (ordered.cumsum(dim=-1) <= draws[place]).sum(dim=-1, keepdim=True)
            return torch.gather(places, 1, passed.clamp(max=scores.size(-1) - 1))

        def narrowed(self, scores: torch.Tensor) -> torch.Tensor:  # pragma: no cover
            if self.top_k > 0:
                least = torch.topk(scores, min(self.top_k, scores.size(-1))).values[:, -1:]
                scores = scores.masked_fill(scores < least, -float("inf"))
            if self.top_p < 1.0:
                ordered, places = torch.sort(scores, descending=False)
                unlikely = torch.softmax(ordered, dim=-1).cumsum(dim=-1) <= (1 - self.top_p)
                unlikely[:, -1:] = False
                scores = scores.masked_fill(unlikely.scatter(1, places, unlikely), -float("inf"))
            return scores

    return Choice()


def _save(compiled: Any, settings: BoundSettings, target: Path) -> None:
    import torch

    raw = target.with_suffix(".raw")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            torch.jit.save(compiled, str(raw), _extra_files={_SETTINGS_FILE: json.dumps(settings.document())})
        _copy_clean(raw, target)
    finally:
        raw.unlink(missing_ok=True)


def _copy_clean(source: Path, target: Path) -> None:
    """Copy an archive without what only says where it was made: source paths, traced inputs, a random identity."""
    with zipfile.ZipFile(source) as read, zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as written:
        for member in read.infolist():
            name = member.filename.partition("/")[2]
            if name.endswith(".debug_pkl") or name.startswith(("traced_inputs", ".data/")):
                continue
            copied = zipfile.ZipInfo(f"{_ROOT}/{name}")
            start = target.stat().st_size if written.fp is None else written.fp.tell()
            copied.extra = _padding(start + _LOCAL_HEADER_BYTES + len(copied.filename.encode()))
            written.writestr(copied, read.read(member))


def _padding(place: int) -> bytes:
    """An extra field of the length that brings the data behind it to the alignment."""
    length = -(place + _EXTRA_HEADER_BYTES) % _ALIGNMENT
    return _PADDING_ID.to_bytes(2, "little") + length.to_bytes(2, "little") + bytes(length)
