"""Strict reading of JSON and the canonical form `C` (dna.md section 2).

Invariants: what `parse_json` accepts, `canonical` can write; `C` of any accepted text, read again, gives the same text.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias, cast

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
"""A value JSON can hold. What was read is dicts and lists; what a program makes may be any mapping, list or tuple."""

MAX_DEPTH = 32
"""The outermost array or object is level 1."""

_INT_MIN, _INT_MAX = -(2**63), 2**63 - 1
_LONGEST_INT = 20
_TOO_DEEP = f"The document nests deeper than {MAX_DEPTH} levels."


class Refused(ValueError):
    """Input that has no digest; the message is a sentence for a person. Every refusal of this package is one."""


def parse_json(text: str | bytes) -> Json:
    """Read one strict JSON document (dna.md section 2).

    Args:
        text: The whole document; bytes must be UTF-8 without a byte order mark.

    Returns:
        dict, list, str, int, float, bool or None; a number with `.`, `e` or `E` is a float, any other an int.

    Raises:
        Refused: The text is no strict JSON, or holds a value that has no canonical form.
    """
    try:
        value = cast("Json", _DECODER.decode(text.decode("utf-8") if isinstance(text, bytes) else text))
    except UnicodeDecodeError as error:
        raise Refused(f"The document is not UTF-8: byte {error.start} cannot be read.") from error
    except json.JSONDecodeError as error:
        raise Refused(f"The document is not JSON: {error}.") from error
    except RecursionError as error:
        raise Refused(_TOO_DEEP) from error
    _check(value, 1)
    return value


def canonical(value: Json) -> str:
    """Write the canonical form `C` of a value (dna.md section 2).

    Raises:
        Refused: The value holds something that has no canonical form: NaN, an infinity, negative zero, an integer
            outside int64, a lone surrogate, a name that is no text, nesting deeper than 32, or a foreign type.
    """
    return _write(value, 1)


def first_repeated(names: Iterable[str]) -> str | None:
    """Find the first name that stood before; None where each stands once."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise Refused(f"The member {first_repeated(name for name, _ in pairs)!a} stands twice in one object.")
    return members


def _integer(digits: str) -> int:
    # The length is looked at first: Python refuses to read thousands of digits with an error of its own.
    if len(digits) > _LONGEST_INT:
        raise Refused(f"An integer of {len(digits)} characters is outside the signed 64-bit range.")
    if digits == "-0":
        raise Refused("Negative zero has no canonical form.")
    return _int64(int(digits))


def _int64(value: int) -> int:
    if not _INT_MIN <= value <= _INT_MAX:
        raise Refused(f"The integer {value} is outside the signed 64-bit range.")
    return value


def _float(digits: str) -> float:
    return _finite(float(digits))


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise Refused("A number is not finite; NaN and infinities have no canonical form.")
    if value == 0.0 and math.copysign(1.0, value) < 0:
        raise Refused("Negative zero has no canonical form.")
    return value


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_int=_integer, parse_float=_float, parse_constant=_float)
_quote = json.JSONEncoder(ensure_ascii=False).encode
"""Exactly the escapes of dna.md: short forms, `\\u00xx` below U+0020, everything else literal."""


def _check(value: Json, level: int) -> None:
    """Refuse what the decoder lets through: lone surrogates and deep nesting."""
    if isinstance(value, str):
        _well_formed(value)
    elif isinstance(value, dict):
        _within(level)
        for name, member in value.items():
            _well_formed(name)
            _check(member, level + 1)
    elif isinstance(value, list):
        _within(level)
        for item in value:
            _check(item, level + 1)


def _within(level: int) -> None:
    if level > MAX_DEPTH:
        raise Refused(_TOO_DEEP)


def _well_formed(text: str) -> str:
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise Refused(f"The text {text!a} holds a lone surrogate.") from error
    return text


def _write(value: Json, level: int) -> str:
    # Subclasses (a text enumeration, a library's double) are written as the plain value that they are.
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return _quote(_well_formed(value))
        case int():
            return int.__repr__(_int64(value))
        case float():
            return _decimal(_finite(value))
        case Mapping():
            _within(level)
            return "{" + ",".join([_member(name, value[name], level) for name in _sorted_names(value)]) + "}"
        case list() | tuple():
            _within(level)
            return "[" + ",".join([_write(item, level + 1) for item in value]) + "]"
        case _:
            raise Refused(f"A value of type {type(value).__name__} has no canonical form.")


def _sorted_names(value: Mapping[str, Json]) -> list[str]:
    for name in value:
        if not isinstance(name, str):
            raise Refused(f"The member name {name!r} is no text.")
    return sorted(value)


def _member(name: str, value: Json, level: int) -> str:
    return f"{_quote(_well_formed(name))}:{_write(value, level + 1)}"


def _decimal(value: float) -> str:
    """Write the shortest digits that read back, as integer digits, `e`, exponent: 0.7 is `7e-1`."""
    mantissa, _, exponent = float.__repr__(value).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).rstrip("0")
    if digits in ("", "-"):
        return "0e0"
    dropped = len(whole) + len(fraction) - len(digits)
    sign, digits = ("-", digits[1:]) if digits[0] == "-" else ("", digits)
    return f"{sign}{digits.lstrip('0')}e{int(exponent or '0') - len(fraction) + dropped}"
