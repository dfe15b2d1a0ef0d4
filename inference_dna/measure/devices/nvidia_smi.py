"""Reads NVIDIA devices through the command `nvidia-smi`, for machines without its library (provenance.md section 6)."""

from __future__ import annotations

import csv
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from inference_dna.canonical import Refused
from inference_dna.measure.devices.accelerators import Device, Seen, named

_FIELDS = ("name", "uuid", "driver_version", "vbios_version", "memory.total", "compute_cap", "mig.mode.current")
_NEWER_FIELDS = ("compute_cap", "mig.mode.current")
"""Drivers before 510 and 450 do not know them and refuse the whole query."""
_FORMAT = "--format=csv,noheader,nounits"
_ABSENT = ("[N/A]", "N/A", "[Not Supported]", "")
_NO_DEVICE = ("couldn't communicate with the NVIDIA driver", "No devices were found")
_NOT_VALID = re.compile(r'Field "(?P<field>[^"]+)" is not a valid field')
_LISTED_GPU = re.compile(r"^GPU \d+: .* \(UUID: (?P<uuid>GPU-[^)]+)\)")
_LISTED_MIG = re.compile(r"^\s+MIG (?P<profile>\S+)\s+Device\s+\d+: \(UUID: (?P<uuid>MIG-[^)]+)\)")
_TIMEOUT_S = 30


@dataclass(frozen=True, slots=True)
class Answer:
    """How a command ended: its exit status and what it printed, both streams together."""

    status: int
    text: str


Run = Callable[[Sequence[str]], Answer]
"""Runs `nvidia-smi` with these arguments."""


def find_nvidia_smi() -> Run | None:
    """The command of this machine, None where there is none."""
    path = shutil.which("nvidia-smi")
    if path is None:
        return None

    def run(arguments: Sequence[str]) -> Answer:
        try:
            ended = subprocess.run(  # noqa: S603  (a fixed command of the driver)
                [path, *arguments], capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Refused(f"The command nvidia-smi does not answer: {error}.") from error
        return Answer(ended.returncode, ended.stdout + ended.stderr)

    return run


def read_nvidia_smi(run: Run) -> Seen | None:
    """Ask the command for the devices; with MIG switched on, for the instances in place of the whole.

    Returns:
        None where the command says that there is no driver or no device: ordinary ways to find none.

    Raises:
        Refused: The command fails, or a device that it lists cannot be read.
    """
    rows = _query(run, _FIELDS)
    if rows is None:
        return None
    listed = _instances(run) if any(row.get("mig.mode.current") == "Enabled" for row in rows) else {}
    devices = [device for row in rows for device in _devices(row, listed)]
    return Seen(tuple(devices), next((row["driver_version"] for row in rows), None))


def _query(run: Run, fields: Sequence[str]) -> list[dict[str, str | None]] | None:
    answer = run([f"--query-gpu={','.join(fields)}", _FORMAT])
    unknown = _NOT_VALID.search(answer.text)
    if unknown and unknown["field"] in _NEWER_FIELDS:
        return _query(run, [field for field in fields if field != unknown["field"]])
    if any(sentence in answer.text for sentence in _NO_DEVICE):
        return None
    if answer.status != 0:
        raise Refused(f"The command nvidia-smi failed: {answer.text.strip()}")
    return [_row(fields, values) for values in csv.reader(answer.text.splitlines(), skipinitialspace=True) if values]


def _row(fields: Sequence[str], values: Sequence[str]) -> dict[str, str | None]:
    if len(values) != len(fields):
        raise Refused(f"The command nvidia-smi answered with {len(values)} values in place of {len(fields)}.")
    told = {field: value.strip() for field, value in zip(fields, values, strict=True)}
    for field, value in told.items():
        if "Unknown Error" in value or "ERR!" in value or "GPU is lost" in value:
            raise Refused(f"A device cannot be read: nvidia-smi says {value!a} for {field}.")
    return {field: None if value in _ABSENT else value for field, value in told.items()}


def _devices(row: Mapping[str, str | None], listed: Mapping[str, Sequence[tuple[str, str]]]) -> list[Device]:
    uuid, memory = row["uuid"], row["memory.total"]
    whole = named(
        row["name"] or "",
        uuid=uuid,
        vbios=row["vbios_version"],
        memory_mib=None if memory is None else int(memory),
        compute_capability=row.get("compute_cap"),
    )
    if row.get("mig.mode.current") != "Enabled":
        return [whole]
    # The command tells the memory of the whole only.
    return [replace(whole, mig=profile, uuid=part, memory_mib=None) for profile, part in listed.get(uuid or "", ())]


def _instances(run: Run) -> dict[str, list[tuple[str, str]]]:
    """Profile and UUID of the instances by the UUID of their device."""
    answer = run(["-L"])
    if answer.status != 0:
        raise Refused(f"The command nvidia-smi failed: {answer.text.strip()}")
    found: dict[str, list[tuple[str, str]]] = {}
    device = ""
    for line in answer.text.splitlines():
        if whole := _LISTED_GPU.match(line):
            device = whole["uuid"]
        elif part := _LISTED_MIG.match(line):
            found.setdefault(device, []).append((part["profile"], part["uuid"]))
    return found
