from __future__ import annotations

from pathlib import Path

import pytest

from inference_dna.measure.file_system import BELIEVED, file_system, file_system_id, mounted_type

MOUNTS = """\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
40 22 0:45 / /models ro,relatime shared:2 master:3 - nfs4 server:/models rw,vers=4.2
41 22 0:46 / /mnt/with\\040space rw - fuse.s3fs s3fs rw
42 22 0:47 / /torn
""".splitlines()


@pytest.mark.parametrize(
    ("mount", "kind"), [("22", "ext4"), ("40", "nfs4"), ("41", "fuse.s3fs"), ("42", None), ("7", None)]
)
def test_the_type_is_that_of_the_descriptors_mount(mount: str, kind: str | None) -> None:
    assert mounted_type(["pos:\t0", "flags:\t0100000", f"mnt_id:\t{mount}"], MOUNTS) == kind


def test_a_kernel_that_does_not_say() -> None:
    assert mounted_type(["pos:\t0"], MOUNTS) is None
    assert file_system(-1) is None


def test_attributes_of_network_and_fuse_mounts_are_not_believed() -> None:
    assert not BELIEVED & {
        "nfs",
        "nfs4",
        "cifs",
        "smb3",
        "fuse",
        "fuse.s3fs",
        "9p",
        "virtiofs",
        "ceph",
        "overlay",
        None,
    }


def test_a_file_of_this_machine(tmp_path: Path) -> None:
    with (tmp_path / "a").open("wb") as stream:
        assert file_system(stream.fileno()) in {each.partition(" - ")[2].split()[0] for each in mounts()}
        assert file_system_id(stream.fileno()) == file_system_id(stream.fileno())


def mounts() -> list[str]:
    return Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
