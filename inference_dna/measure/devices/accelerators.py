"""Accelerators as the hardware section holds them, whichever reader saw them (provenance.md section 6).

The engine's own library says which devices the process uses, the driver says the rest of them. Both are joined by the
device's UUID; where they contradict each other nothing is written.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from inference_dna.canonical import Json, Refused, canonical

_MIG = re.compile(r"\s*\bMIG\s+(?P<profile>\d+[cg](?:\.\d+[cg])?\.\d+gb(?:\+[\w.]+)?)$")
_NUMBERS = re.compile(r"\d+")
_BY_BUS = "PCI_BUS_ID"
_NONE_VISIBLE = ("", "-1", "NoDevFiles")


@dataclass(frozen=True, slots=True)
class Device:
    """One accelerator, or one MIG instance of one; None where the reader has no way to tell.

    `compute_capability` is like `8.0`, `mig` like `1g.5gb`, `memory_mib` the total as the driver reports it.
    """

    name: str
    compute_capability: str | None = None
    sm_count: int | None = None
    mig: str | None = None
    uuid: str | None = None
    memory_mib: int | None = None
    vbios: str | None = None

    def identity(self) -> dict[str, Json]:
        """What enters the digest."""
        return {
            "name": self.name,
            "compute_capability": self.compute_capability,
            "sm_count": self.sm_count,
            "mig": self.mig,
        }


@dataclass(frozen=True, slots=True)
class Seen:
    """What one reader saw: the devices in its own order, and the driver's version."""

    devices: tuple[Device, ...]
    driver: str | None = None


def named(name: str, **facts: object) -> Device:
    """Make a device of the name a library gives, which for a MIG instance has its profile at the end."""
    match = _MIG.search(name)
    if match is None:
        return replace(Device(name), **facts)  # type: ignore[arg-type]
    return replace(Device(name[: match.start()], mig=match["profile"]), **facts)  # type: ignore[arg-type]


def joined(engine: Seen, driver: Seen | None) -> Seen:
    """Add to the devices that an engine uses what the driver knows of the same devices.

    Args:
        engine: What the engine's library sees.
        driver: What the driver sees; None where it cannot be asked.

    Raises:
        Refused: A device of the engine is none of the driver's, or the two call one device by two names.
    """
    if driver is None:
        return engine
    known = {_bare(device.uuid): device for device in driver.devices if device.uuid is not None}
    return Seen(tuple(_completed(device, known) for device in engine.devices), driver.driver)


def visible(seen: Seen, environ: Mapping[str, str]) -> Seen:
    """Keep the devices that a process with this environment would use, for an engine that cannot be asked.

    Raises:
        Refused: Devices are chosen by number, they differ, and nothing says in which order they are numbered.
    """
    chosen = environ.get("CUDA_VISIBLE_DEVICES")
    if chosen is None:
        return seen
    entries = [entry.strip() for entry in chosen.split(",")]
    if entries[0] in _NONE_VISIBLE:
        return replace(seen, devices=())
    if any(entry.isdigit() for entry in entries) and not _has_one_order(seen, environ):
        raise Refused(
            f"CUDA_VISIBLE_DEVICES is {chosen!a} and the devices differ: set CUDA_DEVICE_ORDER to {_BY_BUS}, or name "
            "them by UUID."
        )
    return replace(seen, devices=tuple(_chosen(seen, entry) for entry in entries))


def accelerators(devices: Sequence[Device]) -> list[Json]:
    """Group equal devices with a count, in the order of their canonical form: another PCI order is no drift."""
    texts = [canonical(device.identity()) for device in devices]
    firsts = dict(zip(texts, devices, strict=True))
    return [{**firsts[text].identity(), "count": texts.count(text)} for text in sorted(firsts)]


def devices_evidence(seen: Seen) -> dict[str, Json]:
    """What people want to know of the devices and no digest covers; its order does not depend on the reader's."""
    ordered = sorted(seen.devices, key=lambda device: (canonical(device.identity()), device.uuid or ""))
    return {
        "driver_version": seen.driver,
        "memory_mib": [device.memory_mib for device in ordered],
        "uuid": [device.uuid for device in ordered],
        "vbios": [device.vbios for device in ordered],
    }


def driver_branch(driver: str | None) -> str | None:
    """The first number of the driver's version: `535` of `535.129.03`."""
    match = _NUMBERS.match(driver or "")
    return match[0] if match else None


def _completed(device: Device, known: Mapping[str, Device]) -> Device:
    if device.uuid is None:
        return device
    told = known.get(_bare(device.uuid)) or _twin(device, known)
    if told is None:
        raise Refused(f"The engine uses the device {device.uuid}, which the driver does not list.")
    if _plain_name(told.name) != _plain_name(device.name):
        raise Refused(f"The engine calls the device {device.uuid} {device.name!a}, the driver {told.name!a}.")
    return replace(
        device,
        compute_capability=device.compute_capability or told.compute_capability,
        sm_count=device.sm_count or told.sm_count,
        mig=told.mig or device.mig,
        uuid=told.uuid if _bare(told.uuid) == _bare(device.uuid) else device.uuid,
        memory_mib=told.memory_mib if told.memory_mib is not None else device.memory_mib,
        vbios=told.vbios,
    )


def _plain_name(name: str) -> str:
    """Releases of the driver differ in whether the maker stands in front."""
    return name.lower().removeprefix("nvidia ")


def _twin(device: Device, known: Mapping[str, Device]) -> Device | None:
    """An instance of the same device and profile: engines may give an instance the UUID of the whole."""
    if device.mig is None:
        return None
    return next((each for each in known.values() if (each.name, each.mig) == (device.name, device.mig)), None)


def _bare(uuid: str | None) -> str:
    """A UUID without the word in front of it, which one library writes and another leaves out."""
    return (uuid or "").removeprefix("GPU-").removeprefix("MIG-").lower()


def _has_one_order(seen: Seen, environ: Mapping[str, str]) -> bool:
    """Whether numbers mean the same however devices are ordered: fastest first is the default, and a guess."""
    return environ.get("CUDA_DEVICE_ORDER") == _BY_BUS or len({canonical(d.identity()) for d in seen.devices}) <= 1


def _chosen(seen: Seen, entry: str) -> Device:
    if entry.isdigit() and int(entry) < len(seen.devices):
        return seen.devices[int(entry)]
    # A UUID may be shortened as long as one device fits.
    fitting = [device for device in seen.devices if entry.startswith(("GPU-", "MIG-")) and _fits(device, entry)]
    if len(fitting) != 1:
        raise Refused(f"CUDA_VISIBLE_DEVICES names {entry!a}, which is not one device of this machine.")
    return fitting[0]


def _fits(device: Device, entry: str) -> bool:
    return device.uuid is not None and device.uuid.lower().startswith(entry.lower())
