from __future__ import annotations

from dataclasses import replace

import pytest

from inference_dna.canonical import Refused
from inference_dna.measure.devices.accelerators import (
    Device,
    Seen,
    accelerators,
    devices_evidence,
    driver_branch,
    joined,
    named,
    visible,
)

FIRST = Device("NVIDIA A100-SXM4-40GB", "8.0", 108, None, "GPU-aa00", 40960, "92.00")
SECOND = replace(FIRST, uuid="GPU-bb11")
OTHER = Device("NVIDIA L4", "8.9", 58, None, "GPU-cc22", 23034, "95.04")


@pytest.mark.parametrize(
    ("name", "device", "mig"),
    [
        ("NVIDIA A100-SXM4-40GB", "NVIDIA A100-SXM4-40GB", None),
        ("NVIDIA A100-SXM4-40GB MIG 1g.5gb", "NVIDIA A100-SXM4-40GB", "1g.5gb"),
        ("NVIDIA A100-SXM4-40GB MIG 1c.3g.20gb", "NVIDIA A100-SXM4-40GB", "1c.3g.20gb"),
        ("NVIDIA H100 80GB HBM3 MIG 1g.10gb+me", "NVIDIA H100 80GB HBM3", "1g.10gb+me"),
        ("NVIDIA MIGHTY 40GB", "NVIDIA MIGHTY 40GB", None),
    ],
)
def test_the_profile_of_an_instance_stands_in_its_name(name: str, device: str, mig: str | None) -> None:
    assert named(name, uuid="MIG-1") == Device(device, mig=mig, uuid="MIG-1")


def test_equal_devices_are_one_entry_with_a_count_in_any_order() -> None:
    grouped = accelerators([SECOND, OTHER, FIRST])

    assert grouped == accelerators([OTHER, FIRST, SECOND])
    assert grouped == [
        {"name": "NVIDIA A100-SXM4-40GB", "count": 2, "compute_capability": "8.0", "sm_count": 108, "mig": None},
        {"name": "NVIDIA L4", "count": 1, "compute_capability": "8.9", "sm_count": 58, "mig": None},
    ]
    assert accelerators([]) == []


def test_the_evidence_does_not_depend_on_the_order_of_the_reader() -> None:
    evidence = devices_evidence(Seen((SECOND, OTHER, FIRST), "535.129.03"))

    assert evidence == devices_evidence(Seen((FIRST, SECOND, OTHER), "535.129.03"))
    assert evidence["uuid"] == ["GPU-aa00", "GPU-bb11", "GPU-cc22"]
    assert evidence["memory_mib"] == [40960, 40960, 23034]


def test_the_driver_adds_what_the_engine_cannot_tell() -> None:
    engine = Seen((Device("NVIDIA A100-SXM4-40GB", "8.0", 108, None, "aa00", 40337),))
    driver = Seen((replace(SECOND, sm_count=None), replace(FIRST, sm_count=None)), "535.129.03")

    assert joined(engine, driver) == Seen((FIRST,), "535.129.03")
    assert joined(engine, None) == engine


def test_the_maker_in_front_of_a_name_is_no_contradiction() -> None:
    engine = Seen((replace(FIRST, name="A100-SXM4-40GB"),))

    assert joined(engine, Seen((FIRST,), "535")).devices[0].name == "A100-SXM4-40GB"


def test_an_engine_that_tells_no_uuid_is_left_as_it_is() -> None:
    engine = Seen((Device("NVIDIA A100-SXM4-40GB", "8.0", 108),))

    assert joined(engine, Seen((FIRST,), "535")) == Seen(engine.devices, "535")


@pytest.mark.parametrize(
    ("device", "reason"),
    [
        pytest.param(replace(FIRST, uuid="dd33"), "the driver does not list", id="a-device-of-nobody"),
        pytest.param(replace(OTHER, uuid="aa00"), "the driver 'NVIDIA A100-SXM4-40GB'", id="two-names"),
    ],
)
def test_two_readers_that_contradict_each_other_are_refused(device: Device, reason: str) -> None:
    with pytest.raises(Refused, match=reason):
        joined(Seen((device,)), Seen((FIRST, SECOND), "535"))


def test_an_instance_may_carry_the_uuid_of_the_whole() -> None:
    part = replace(FIRST, mig="1g.5gb", uuid="MIG-1", sm_count=14, memory_mib=4864)
    engine = Seen((Device(FIRST.name, "8.0", 14, "1g.5gb", "aa00", 4800),))

    (device,) = joined(engine, Seen((part,), "535")).devices

    assert (device.mig, device.memory_mib, device.vbios, device.uuid) == ("1g.5gb", 4864, "92.00", "aa00")
    with pytest.raises(Refused, match="does not list"):
        joined(Seen((replace(engine.devices[0], mig="3g.20gb"),)), Seen((part,), "535"))


@pytest.mark.parametrize(
    ("environ", "devices"),
    [
        pytest.param({}, (FIRST, SECOND), id="all"),
        pytest.param({"CUDA_VISIBLE_DEVICES": ""}, (), id="none"),
        pytest.param({"CUDA_VISIBLE_DEVICES": "-1"}, (), id="none-by-number"),
        pytest.param({"CUDA_VISIBLE_DEVICES": "1"}, (SECOND,), id="by-number"),
        pytest.param({"CUDA_VISIBLE_DEVICES": "1,0"}, (SECOND, FIRST), id="turned"),
        pytest.param({"CUDA_VISIBLE_DEVICES": "GPU-bb"}, (SECOND,), id="by-the-beginning-of-a-uuid"),
    ],
)
def test_the_environment_chooses_devices(environ: dict[str, str], devices: tuple[Device, ...]) -> None:
    assert visible(Seen((FIRST, SECOND), "535"), environ) == Seen(devices, "535")


def test_numbers_of_unlike_devices_need_an_order() -> None:
    seen = Seen((OTHER, FIRST))

    with pytest.raises(Refused, match="set CUDA_DEVICE_ORDER"):
        visible(seen, {"CUDA_VISIBLE_DEVICES": "0"})
    assert visible(seen, {"CUDA_VISIBLE_DEVICES": "0", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}) == Seen((OTHER,))
    assert visible(seen, {"CUDA_VISIBLE_DEVICES": "GPU-aa00"}) == Seen((FIRST,))


@pytest.mark.parametrize("entry", ["7", "GPU-", "GPU-zz", "MIG-1", "x"])
def test_a_choice_that_is_not_one_device_is_refused(entry: str) -> None:
    with pytest.raises(Refused, match="not one device"):
        visible(Seen((FIRST, SECOND)), {"CUDA_VISIBLE_DEVICES": entry})


@pytest.mark.parametrize(("driver", "branch"), [("535.129.03", "535"), ("570", "570"), (None, None), ("", None)])
def test_the_branch_is_the_first_number(driver: str | None, branch: str | None) -> None:
    assert driver_branch(driver) == branch
