"""Versions and devices that are pinned by hand or by a contract, compared with what was measured.

A pin asks for more than a manifest may say: one made on a build machine knows no CUDA. A fact that was not measured
does not meet a pin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from inference_dna.canonical import Json, Refused, parse_json
from inference_dna.dotted import DottedRange
from inference_dna.gpu_words import is_named

_HARDWARE = ("cuda", "cudnn")
_BYTES_PER_MIB, _BYTES_PER_GB = 1024 * 1024, 1_000_000_000


@dataclass(frozen=True, slots=True)
class Unmet:
    """A pin that does not hold: its name, what it asks for, what was measured."""

    name: str
    wanted: str
    measured: str


def parse_pins(pins: Mapping[str, Json]) -> Mapping[str, Json]:
    """Check the form of pins.

    Args:
        pins: `gpu` (list of names), `cuda`, `cudnn`, `driver`, `compute_capability` (ranges such as `12.1`),
            `requires_gpu_memory_gb`, `python`, or the name of a package with a range.

    Raises:
        Refused: A value has another form.
    """
    for name, value in pins.items():
        if name == "gpu":
            _names(value)
        elif name == "requires_gpu_memory_gb":
            _number(value)
        else:
            _range(name, value)
    return pins


def pins_of_contract(text: str | bytes) -> Mapping[str, Json]:
    """Read the pins of a contract: its `hardware_requirements`.

    Raises:
        Refused: The text is no contract, or asks for what cannot be compared.
    """
    document = parse_json(text)
    if not isinstance(document, Mapping) or "model_id" not in document:
        raise Refused("This is no contract: it names no model.")
    wanted = _members(document.get("contract")).get("hardware_requirements")
    if wanted is None:
        return {}
    if not isinstance(wanted, Mapping):
        raise Refused("The contract's hardware_requirements are no object.")
    return parse_pins({name: value for name, value in wanted.items() if value is not None})


def unmet(pins: Mapping[str, Json], genome: Mapping[str, Json]) -> tuple[Unmet, ...]:
    """Name the pins that a genome does not meet.

    Raises:
        Refused: A pin has another form than `parse_pins` accepts.
    """
    return tuple(found for name, value in pins.items() for found in _compared(name, value, genome))


def _compared(name: str, value: Json, genome: Mapping[str, Json]) -> Iterator[Unmet]:
    facts, fits = _facts(name, genome), _fits(name, value)
    if not facts or not all(fact is not None and fits(fact) for fact in facts):
        shown = ", ".join("not measured" if fact is None else fact for fact in facts) or "none"
        yield Unmet(name, _text(value), shown)


def _fits(name: str, value: Json) -> Callable[[str], bool]:
    if name == "gpu":
        names = _names(value)
        return lambda fact: is_named(fact, names)
    if name == "requires_gpu_memory_gb":
        least = _number(value) * _BYTES_PER_GB
        return lambda fact: float(fact) * _BYTES_PER_MIB >= least
    wanted = _range(name, value)
    # What stands behind `+` names the build (2.2.0+cu121), not the version.
    return lambda fact: wanted.matches(fact.partition("+")[0])


def _facts(name: str, genome: Mapping[str, Json]) -> list[str | None]:
    """What was measured of one name, once per device where devices have it; None stands for a silent one."""
    hardware, framework = _members(genome.get("hardware")), _members(genome.get("framework"))
    evidence, devices = _members(hardware.get("evidence")), hardware.get("accelerators")
    if name in ("gpu", "compute_capability"):
        member = "name" if name == "gpu" else name
        return [_fact(_members(device).get(member)) for device in cast("list[Json]", devices or [])]
    if name == "requires_gpu_memory_gb":
        return [_fact(each) for each in cast("list[Json]", evidence.get("memory_mib") or [])]
    if name == "driver":
        return [_fact(evidence.get("driver_version", hardware.get("driver_branch")))]
    if name in _HARDWARE:
        return [_fact(hardware.get(name))]
    if name == "python":
        return [_fact(_members(framework.get("evidence")).get("python_full", framework.get("python")))]
    return [_fact(_members(framework.get("packages")).get(name))]


def _fact(value: Json) -> str | None:
    return None if value is None else str(value)


def _members(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, Mapping) else {}


def _names(value: Json) -> list[str]:
    if not isinstance(value, list | tuple) or not value or not all(isinstance(name, str) for name in value):
        raise Refused("The pin `gpu` must be a list of names, such as A100.")
    return [str(name) for name in value]


def _number(value: Json) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        raise Refused("The pin `requires_gpu_memory_gb` must be a number above 0.")
    return float(value)


def _range(name: str, value: Json) -> DottedRange:
    if not isinstance(value, str):
        raise Refused(f"The pin `{name}` must be a text, such as 12.1.")
    try:
        return DottedRange.parse(value)
    except ValueError as error:
        raise Refused(f"The pin `{name}` cannot be read: {error}") from error


def _text(value: Json) -> str:
    return " or ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
