from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from inference_dna.canonical import Refused
from inference_dna.measure.cache_folder import cache_faults, folder_faults, private_cache


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Where this host keeps its caches; nobody else may write there."""
    tmp_path.chmod(0o755)
    return tmp_path / "caches"


def test_each_service_has_a_folder_of_its_own(root: Path) -> None:
    first, second = private_cache(root, "bert"), private_cache(root, "qwen")

    assert first == {
        "HF_HOME": str(root / "bert"),
        "TRANSFORMERS_CACHE": str(root / "bert/hub"),
        "HF_HUB_CACHE": str(root / "bert/hub"),
    }
    assert second["HF_HOME"] != first["HF_HOME"]
    assert (root / "bert").stat().st_mode & 0o777 == 0o700
    assert cache_faults(first, service="bert") == ()
    assert cache_faults(first) == ()


def test_a_second_process_of_the_service_takes_the_same_folder(root: Path) -> None:
    assert private_cache(root, "bert") == private_cache(root, "bert")


def test_the_library_uses_the_folder(root: Path) -> None:
    pytest.importorskip("huggingface_hub")
    environ = {**os.environ, **private_cache(root, "bert")}
    code = "from huggingface_hub import constants; print(constants.HF_HUB_CACHE)"

    told = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True)

    assert told.stdout.strip() == str(root / "bert/hub")


def test_a_folder_of_another_service_is_a_fault(root: Path) -> None:
    environ = private_cache(root, "bert")

    faults = cache_faults(environ, service="qwen")

    assert len(faults) == 3
    assert faults[0] == f"HF_HOME: The cache folder '{root / 'bert'}' belongs to the service 'bert', not to 'qwen'."


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
def test_a_folder_others_may_write_to_is_a_fault(root: Path, mode: int) -> None:
    environ = private_cache(root, "bert")
    (root / "bert").chmod(mode)

    faults = cache_faults({"HF_HOME": environ["HF_HOME"]}, service="bert")

    assert faults == (f"HF_HOME: The cache folder '{root / 'bert'}' may be written by others (mode {mode:04o}).",)
    with pytest.raises(Refused, match="may be written by others"):
        private_cache(root, "bert")


def test_a_folder_above_that_others_may_write_to_is_a_fault(root: Path) -> None:
    environ = private_cache(root, "bert")
    root.chmod(0o777)

    assert "above the cache may be written by others" in cache_faults({"HF_HOME": environ["HF_HOME"]})[0]
    root.chmod(0o1777)
    assert cache_faults({"HF_HOME": environ["HF_HOME"]}) == ()


def test_a_link_is_a_fault(root: Path, tmp_path: Path) -> None:
    private_cache(root, "bert")
    link = tmp_path / "link"
    link.symlink_to(root / "bert")

    assert folder_faults(link) == (
        f"The cache folder '{link}' is a link, and whoever owns the link chooses the cache.",
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser can give a folder away")
def test_a_folder_of_another_user_is_a_fault(root: Path) -> None:
    private_cache(root, "bert")
    os.chown(root / "bert", 65534, 65534)

    assert folder_faults(root / "bert", service="bert") == (
        f"The cache folder '{root / 'bert'}' belongs to another user (id 65534).",
    )


@pytest.mark.parametrize("environ", [{}, {"HF_HOME": ""}], ids=["nothing-set", "empty"])
def test_the_folder_of_the_user_is_shared_by_all_services(environ: dict[str, str]) -> None:
    (fault,) = cache_faults(environ)

    assert fault.startswith("HF_HOME is not set")


def test_a_folder_that_nobody_claimed_is_a_fault(root: Path) -> None:
    root.mkdir(mode=0o700)

    assert "Nothing says which service" in cache_faults({"TRANSFORMERS_CACHE": str(root)})[0]
    assert "Nothing says which service" in cache_faults({"HF_HOME": str(root / "not-made-yet")})[0]
    assert "Nothing says which service" in cache_faults({"HF_HOME": str(root / "not" / "made" / "yet")})[0]


def test_a_relative_folder_and_one_that_is_none_are_faults(root: Path) -> None:
    private_cache(root, "bert")
    file = root / "bert" / "file"
    file.write_bytes(b"")

    assert "is not absolute" in cache_faults({"HF_HOME": "cache"})[0]
    assert folder_faults(file) == (f"The cache folder '{file}' is no folder.",)


@pytest.mark.parametrize("service", ["", "..", "a/b", ".hidden"])
def test_a_name_that_is_no_folder_is_refused(root: Path, service: str) -> None:
    with pytest.raises(Refused, match="cannot name a cache folder"):
        private_cache(root, service)


def test_a_place_where_nothing_can_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")

    with pytest.raises(Refused, match="Reading or making the cache folder"):
        private_cache(tmp_path / "file", "bert")
