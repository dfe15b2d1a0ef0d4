"""A plain value to a frozen model, or every fault of it in words that a person can act on.

pydantic finds the faults. Its sentences speak of types and inputs, so only its error codes are used.

An unknown member that is spelt almost like a known one is a slip and refuses the document. Any other unknown member is
kept out and warned about (consul.md section 2): a document written for a newer gateway still loads. Models that set
`every_member_counts` refuse both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any, Literal, TypeAlias, TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from contracts.faults import DocumentRefused, Fault, Misfit, did_you_mean, listed, pointer, quoted
from contracts.reading import Reading

Model = TypeVar("Model", bound=BaseModel)
_Sentence: TypeAlias = Callable[[ErrorDetails, "str | None"], str]

MOST_FAULTS = 1_000
"""Faults told of one document; a list of the wrong kind could have hundreds of thousands."""

_UNKNOWN = "extra_forbidden"


def validate(model: type[Model], reading: Reading, further: Iterable[Fault]) -> tuple[Model, tuple[Fault, ...]]:
    """Make the model, with the warnings about its document.

    Args:
        model: What the document should be.
        reading: The document.
        further: Faults that no single member shows.

    Raises:
        DocumentRefused: With every fault, warnings too, up to a limit.
    """
    found = list(islice(chain(reading.faults, further), MOST_FAULTS))
    value, details = _attempt(model, reading)
    strangers = [each for each in details if each["type"] == _UNKNOWN]
    if strangers:
        # An object that holds an unknown member is not looked at as a whole; without the stranger it is.
        value, details = _attempt(model, reading, extra="ignore")
    seen = {fault.path for fault in found}
    faults = (fault for each in chain(details, strangers) for fault in _faults(model, each, reading.spellings))
    found += islice((fault for fault in faults if fault.path not in seen), MOST_FAULTS)
    if value is None or any(fault.severity == "error" for fault in found):
        raise DocumentRefused(found)
    return value, tuple(found)


def _attempt(
    model: type[Model], reading: Reading, extra: Literal["ignore"] | None = None
) -> tuple[Model | None, list[ErrorDetails]]:
    try:
        return model.model_validate(reading.value, extra=extra), []
    except ValidationError as error:
        return None, error.errors(include_url=False)


def _faults(model: type[BaseModel], details: ErrorDetails, spellings: Mapping[str, str]) -> Iterator[Fault]:
    path = pointer(details["loc"])
    if details["type"] == _UNKNOWN:
        yield _unknown(model, details["loc"], path)
        return
    cause = details.get("ctx", {}).get("error")
    if isinstance(cause, Misfit):
        yield from (Fault(path + fault.path, fault.message, fault.severity) for fault in cause.faults)
        return
    sentence = _SENTENCES.get(details["type"], _any_other)
    yield Fault(path, sentence(details, spellings.get(path)))


def _unknown(model: type[BaseModel], steps: tuple[int | str, ...], path: str) -> Fault:
    home = _model_at(model, steps[:-1])
    names = [field.alias or name for name, field in home.model_fields.items()]
    hint = did_you_mean(str(steps[-1]), names)
    if hint or getattr(home, "every_member_counts", False):
        return Fault(path, "is no member of this object." + (hint or f" It may have {listed(names)}."))
    return Fault(path, "is unknown and has no effect.", "warning")


def _model_at(model: type[BaseModel], steps: Iterable[int | str]) -> type[BaseModel]:
    """Follow a pointer from model to model; places in lists lead nowhere new."""
    for step in steps:
        fields = {field.alias or name: field for name, field in model.model_fields.items()}
        if step in fields:
            model = _inner_model(fields[str(step)].annotation) or model
    return model


def _inner_model(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := _inner_model(part))), None)


def _not_text(details: ErrorDetails, spelling: str | None) -> str:
    value = details["input"]
    if value is None:
        return "null is not text; write a text or leave this member out."
    if spelling is None:
        return f"{quoted(value)} must be text."
    kind = "is read as true or false" if isinstance(value, bool) else "is a number"
    return f"{spelling} {kind} where text is meant; put it in quotes: {quoted(spelling)}."


_WITH_UNIT = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?(?:%|s)")


def _unquoted(noun: str, looks: str) -> _Sentence:
    def sentence(details: ErrorDetails, spelling: str | None) -> str:
        value = details["input"]
        hint = "; remove the quotes" if isinstance(value, str) and re.fullmatch(looks, value) else ""
        if isinstance(value, str) and (found := _WITH_UNIT.fullmatch(value)):
            hint = f", without a unit: {found[1]}"
        return f"{spelling or quoted(value)} must be {noun}{hint}."

    return sentence


def _not_a_list(details: ErrorDetails, _: str | None) -> str:
    value = details["input"]
    if isinstance(value, str):
        return f"{quoted(value)} must be a list of names, like [{quoted(value)}]."
    return f"{quoted(value)} must be a list{'; put it in [ ]' if isinstance(value, dict) else ''}."


def _not_an_object(details: ErrorDetails, _: str | None) -> str:
    return f"{quoted(details['input'])} must be an object, with members in {{}} or below it."


def _not_allowed(details: ErrorDetails, _: str | None) -> str:
    allowed = re.findall(r"'([^']*)'", details["ctx"]["expected"])
    value = details["input"]
    hint = did_you_mean(value, allowed) if isinstance(value, str) else ""
    return f"{quoted(value)} is not allowed here; write {listed(map(quoted, allowed))}.{hint}"


def _too(word: str, bound: str, limit: str) -> _Sentence:
    def sentence(details: ErrorDetails, spelling: str | None) -> str:
        return f"{spelling or quoted(details['input'])} is too {word}; {bound} {details['ctx'][limit]:g}."

    return sentence


def _any_other(details: ErrorDetails, _: str | None) -> str:
    return f"{quoted(details['input'])} does not fit here: {details['msg']}."


_SENTENCES: dict[str, _Sentence] = {
    "missing": lambda _, __: "is required and missing.",
    "string_type": _not_text,
    "string_too_short": lambda _, __: "must not be empty.",
    "string_too_long": _too("long", "the most characters it may have are", "max_length"),
    "int_type": _unquoted("a whole number", r"-?[0-9]+"),
    "float_type": _unquoted("a number", r"-?[0-9]+(?:\.[0-9]+)?"),
    "bool_type": _unquoted("true or false", r"true|false"),
    "tuple_type": _not_a_list,
    "dict_type": _not_an_object,
    "mapping_type": _not_an_object,
    "model_type": _not_an_object,
    "enum": _not_allowed,
    "literal_error": _not_allowed,
    "greater_than_equal": _too("small", "it must be at least", "ge"),
    "greater_than": _too("small", "it must be more than", "gt"),
    "less_than_equal": _too("large", "it may be at most", "le"),
    "value_error": lambda details, _: str(details["ctx"]["error"]),
}
