from __future__ import annotations

import json
import platform
import sys
from collections.abc import Callable
from hashlib import sha256
from importlib.metadata import Distribution, PackageNotFoundError, PathDistribution
from pathlib import Path

import pytest

from inference_dna.canonical import Refused
from inference_dna.digest import hashed
from inference_dna.files import FileEntry, files_digest
from inference_dna.genome import section_digest
from inference_dna.measure.framework import (
    Package,
    commits,
    framework_section,
    read_package,
    read_packages,
    records_digest,
)

RECORD = b"engine/__init__.py,sha256=47DEQpj8HBSa,0\nengine-2.2.0.dist-info/METADATA,,\n"
METADATA = "Metadata-Version: 2.1\nName: engine\nVersion: 2.2.0+cu121\n"


def installed(site: Path, files: dict[str, bytes]) -> Callable[[str], Distribution]:
    """Write the metadata of one package as an installer does, and give the reader that finds it."""
    info = site / "engine-2.2.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(METADATA, encoding="utf-8")
    for name, content in files.items():
        (info / name).write_bytes(content)
    return lambda name: PathDistribution(info)


def wheel(site: Path, record: bytes = RECORD) -> Callable[[str], Distribution]:
    listed = record + b"engine-2.2.0.dist-info/RECORD,,\n"
    return installed(site, {"RECORD": listed})


def test_a_package_is_its_version_and_the_hash_of_its_record(tmp_path: Path) -> None:
    package = read_package("engine", wheel(tmp_path))

    content = (tmp_path / "engine-2.2.0.dist-info" / "RECORD").read_bytes()
    assert package == Package("engine", "2.2.0+cu121", sha256(content).hexdigest())


def test_a_patched_wheel_under_an_unchanged_version_is_seen(tmp_path: Path) -> None:
    before = read_package("engine", wheel(tmp_path / "a"))
    after = read_package("engine", wheel(tmp_path / "b", RECORD.replace(b"47DEQ", b"57DEQ")))

    assert before.version == after.version
    assert records_digest([before]) != records_digest([after])


def test_records_by_hand() -> None:
    packages = [Package("torch", "2.2.0", "b" * 64), Package("numpy", "2.4.6", "a" * 64)]

    assert records_digest(packages) == hashed("records", f"{'a' * 64}  numpy\n{'b' * 64}  torch\n")


def test_an_editable_install_is_its_tree(tmp_path: Path) -> None:
    tree = tmp_path / "source tree"
    (tree / "engine").mkdir(parents=True)
    (tree / "engine" / "__init__.py").write_bytes(b"code")
    (tree / ".git").mkdir()
    (tree / ".git" / "HEAD").write_bytes(b"ref")
    origin = {"url": tree.as_uri(), "dir_info": {"editable": True}}
    find = installed(tmp_path / "site", {"direct_url.json": json.dumps(origin).encode(), "RECORD": RECORD})

    code = FileEntry("engine/__init__.py", 4, sha256(b"code").hexdigest())
    assert read_package("engine", find).record == files_digest([code])


def test_a_package_installed_from_a_folder_has_its_record(tmp_path: Path) -> None:
    origin = {"url": tmp_path.as_uri(), "dir_info": {}}
    listed = RECORD + b"engine-2.2.0.dist-info/RECORD,,\n"
    find = installed(tmp_path, {"direct_url.json": json.dumps(origin).encode(), "RECORD": listed})

    assert read_package("engine", find).record == sha256(listed).hexdigest()


@pytest.mark.parametrize("files", [{}, {"RECORD": RECORD}], ids=["no-record", "record-does-not-list-itself"])
def test_a_package_nobody_knows_the_files_of_is_refused(tmp_path: Path, files: dict[str, bytes]) -> None:
    with pytest.raises(Refused, match="'engine' has no RECORD"):
        read_package("engine", installed(tmp_path, files))


def test_a_package_that_is_not_installed_is_refused() -> None:
    def nothing(name: str) -> Distribution:
        raise PackageNotFoundError(name)

    with pytest.raises(Refused, match="'engine' is not installed"):
        read_package("engine", nothing)


def test_the_packages_of_this_interpreter_are_read() -> None:
    package = read_package("pytest")

    assert package.version == pytest.__version__
    assert read_package("pytest") == package


def test_only_what_is_installed_is_read() -> None:
    packages = read_packages(["pytest", "no-such-package", "hypothesis"])

    assert [package.name for package in packages] == ["hypothesis", "pytest"]


def test_the_commit_of_a_package_from_a_repository_is_told(tmp_path: Path) -> None:
    origin = {"url": "https://example.org/engine.git", "vcs_info": {"vcs": "git", "commit_id": "a" * 40}}
    find = installed(tmp_path, {"direct_url.json": json.dumps(origin).encode()})

    assert commits(["engine"], find) == {"engine": "a" * 40}
    assert commits(["pytest"]) == {}


def test_the_section_says_what_runs() -> None:
    packages = [Package("onnxruntime", "1.32.0", "a" * 64)]
    section = framework_section(
        packages,
        engine={"name": "onnxruntime", "version": "1.32.0", "commit": None},
        environ={"OMP_NUM_THREADS": "2", "VLLM_API_KEY": "secret", "PATH": "/bin"},
        flags={"providers": ["CPUExecutionProvider"]},
        parallel={"intra_op_threads": 1},
        deterministic={"engine": True},
    )

    assert section["python"] == f"{sys.version_info.major}.{sys.version_info.minor}"
    assert section["packages"] == {"onnxruntime": "1.32.0"}
    assert section["records"] == f"sha256:{records_digest(packages)}"
    assert section["env"] == {"OMP_NUM_THREADS": "2"}
    assert section["env_rule"] == "env/1"
    evidence = section["evidence"]
    assert isinstance(evidence, dict)
    assert evidence["python_full"] == platform.python_version()
    assert len(section_digest("framework", section)) == 64
