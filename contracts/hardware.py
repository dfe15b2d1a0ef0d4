"""What a version demands of the machine, compared with what a worker says of its own (dna.md section 1).

A fact that contradicts is *unmet*. A fact that the worker does not state is *unstated*: no contradiction, but no proof.
A member that is null was looked for and does not exist, so it contradicts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from contracts.faults import quoted
from contracts.field_types import NumberRange, Text
from inference_dna.canonical import Json
from inference_dna.dotted import DottedRange, parse_numbers
from inference_dna.gpu_words import is_named, words

Stated: TypeAlias = Sequence[str | None]
"""One fact as the worker says it, once per device where devices have it; None stands for a device that is silent."""

_SILENT: Stated = (None,)
_MIB = 1024 * 1024
# Cards are sold in powers of ten: one of "80 GB" reports 81559 MiB, which is less than 80 GiB.
_GB = 1_000_000_000


def _has_a_word(text: str) -> str:
    if not words(text):
        raise ValueError(f"{quoted(text)} names no GPU; write a part of its name, like A100.")
    return text


def _not_empty(names: tuple[str, ...]) -> tuple[str, ...]:
    # Not pydantic's min_length: that counts the readable names only, and calls a list of slips empty.
    if not names:
        raise ValueError("the list is empty; name at least one, or leave this member out.")
    return names


GpuName: TypeAlias = Annotated[Text, AfterValidator(_has_a_word)]
GpuNames: TypeAlias = Annotated[
    tuple[GpuName, ...], AfterValidator(_not_empty), Field(json_schema_extra={"minItems": 1})
]


class HardwareRequirements(BaseModel):
    """What every device and library of a worker must be. Nothing stated means any machine will do."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    # A requirement nobody knows cannot be checked, and must not be passed in silence.
    every_member_counts: ClassVar[bool] = True

    gpu: GpuNames | None = None
    """Names of which every device must carry one, compared by word: `A100` fits `NVIDIA A100-SXM4-40GB`, `A10` not."""
    cuda: NumberRange | None = None
    cudnn: NumberRange | None = None
    driver: NumberRange | None = None
    compute_capability: NumberRange | None = None
    requires_gpu_memory_gb: Annotated[float, Field(strict=True, gt=0, le=100_000)] | None = None
    """Memory of each device in GB of 10^9 bytes."""

    @property
    def is_empty(self) -> bool:
        """Say whether any machine will do."""
        return not any(value for _, value in self)


@dataclass(frozen=True, slots=True)
class _Finding:
    message: str
    contradicts: bool


def unmet(requirements: HardwareRequirements, hardware: Mapping[str, Json] | None) -> tuple[str, ...]:
    """Name the requirements that contradict what the worker states.

    Args:
        requirements: What the contract demands.
        hardware: The hardware section of a genome, evidence included, or a small worker's own with `gpu` or `gpu_name`
            as text; None where the worker said nothing.

    Returns:
        One sentence part each, such as `cuda 12.1 is required, and the worker states "11.8"`.
    """
    return tuple(finding.message for finding in _findings(requirements, hardware) if finding.contradicts)


def unstated(requirements: HardwareRequirements, hardware: Mapping[str, Json] | None) -> tuple[str, ...]:
    """Name the requirements about which the worker says nothing; arguments and form as for `unmet`."""
    return tuple(finding.message for finding in _findings(requirements, hardware) if not finding.contradicts)


def _findings(requirements: HardwareRequirements, hardware: Mapping[str, Json] | None) -> Iterator[_Finding]:
    said = hardware or {}
    gpu, capability, memory = requirements.gpu, requirements.compute_capability, requirements.requires_gpu_memory_gb
    if gpu:
        yield from _compare("gpu " + " or ".join(gpu), _device_names(said), lambda name: is_named(name, gpu))
    if capability:
        yield from _compare_range("compute_capability", capability, _of_devices(said, "compute_capability"))
    if memory:
        yield from _compare(f"gpu memory of {memory:g} GB", _memory_mib(said), lambda mib: _is_enough(mib, memory))
    if requirements.cuda:
        yield from _compare_range("cuda", requirements.cuda, _texts(said, "cuda"))
    if requirements.cudnn:
        yield from _compare_range("cudnn", requirements.cudnn, _texts(said, "cudnn"))
    if requirements.driver:
        yield from _compare_range("driver", requirements.driver, _driver(said, requirements.driver))


def _compare_range(name: str, wanted: DottedRange, stated: Stated) -> Iterator[_Finding]:
    return _compare(f"{name} {wanted.text}", stated, wanted.matches)


def _compare(wanted: str, stated: Stated, fits: Callable[[str], bool]) -> Iterator[_Finding]:
    said = [text for text in stated if text is not None]
    if not stated or not all(map(fits, said)):
        shown = ", ".join(map(quoted, said)) or "none"
        yield _Finding(f"{wanted} is required, and the worker states {shown}", contradicts=True)
    elif len(said) < len(stated):
        yield _Finding(f"{wanted} is required, and the worker does not state it", contradicts=False)


def _devices(said: Mapping[str, Json]) -> Sequence[Mapping[str, Json]]:
    """The accelerators; what is no list of objects names no device."""
    devices = said.get("accelerators")
    return [each for each in devices if isinstance(each, Mapping)] if isinstance(devices, list | tuple) else ()


def _of_devices(said: Mapping[str, Json], name: str) -> Stated:
    if "accelerators" not in said:
        return _SILENT
    return [text for device in _devices(said) for text in _texts(device, name)]


def _device_names(said: Mapping[str, Json]) -> Stated:
    if "accelerators" in said:
        return _of_devices(said, "name")
    return _texts(said, "gpu_name" if "gpu_name" in said else "gpu")


def _memory_mib(said: Mapping[str, Json]) -> Stated:
    if "accelerators" in said and not _devices(said):
        return ()
    return _texts({**said, **_evidence(said)}, "memory_mib")


def _driver(said: Mapping[str, Json], wanted: DottedRange) -> Stated:
    """The exact version where it is known; the branch only answers a requirement that asks for no more."""
    known = {**said, **_evidence(said)}
    for name in ("driver_version", "driver"):
        if name in known:
            return _texts(known, name)
    branch = known.get("driver_branch")
    numbers = parse_numbers(branch) if isinstance(branch, str) else None
    return _SILENT if numbers and len(numbers) < wanted.parts else _texts(known, "driver_branch")


def _evidence(said: Mapping[str, Json]) -> Mapping[str, Json]:
    evidence = said.get("evidence")
    return evidence if isinstance(evidence, Mapping) else {}


def _texts(said: Mapping[str, Json], name: str) -> Stated:
    """A member as texts. One that is null, or of a kind that no fact has, becomes a text that fits no requirement."""
    if name not in said:
        return _SILENT
    value = said[name]
    return [_text(each) for each in value] if isinstance(value, list | tuple) else [_text(value)]


def _text(value: Json) -> str:
    return "null" if value is None else str(value)


def _is_enough(mib: str, gb: float) -> bool:
    try:
        return float(mib) * _MIB >= gb * _GB
    except ValueError:
        return False
