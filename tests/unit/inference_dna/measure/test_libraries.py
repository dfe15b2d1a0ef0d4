from __future__ import annotations

from pathlib import Path

import pytest

from inference_dna.measure.libraries import installed_version, mapped_libraries

MAPPED = "7f2a00000000-7f2a00100000 r-xp 00000000 08:01 1234                       {path}"


def maps(*paths: str) -> str:
    return "\n".join(MAPPED.format(path=path) for path in paths)


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/usr/local/cuda/lib64/libcudart.so.12.1.105", {"cudart": "12.1.105"}),
        ("/venv/nvidia/cudnn/lib/libcudnn.so.9", {"cudnn": "9"}),
        ("/venv/nvidia/cublas/lib/libcublasLt.so.12", {"cublasLt": "12"}),
        ("/venv/nvidia/nccl/lib/libnccl.so.2", {"nccl": "2"}),
        ("/venv/numpy.libs/libscipy_openblas64_-32a4b2a6.so", {"openblas": "32a4b2a6"}),
        ("/usr/lib/libopenblas.so.0", {"openblas": "0"}),
        ("/opt/mkl/libmkl_rt.so.2", {"mkl": "2"}),
        ("/usr/lib/libdnnl.so.3.5", {"onednn": "3.5"}),
        ("/venv/torch.libs/libgomp-98b21ff3.so.1.0.0", {"gomp": "1.0.0"}),
        ("/usr/lib/libgomp.so", {"gomp": "unversioned"}),
        ("/usr/lib/libdnnl.so.3.5 (deleted)", {"onednn": "3.5"}),
        ("/opt/my env/lib/libcusolver.so.11", {"cusolver": "11"}),
        ("/opt/rocm/lib/libMIOpen.so.1.0.60300", {"miopen": "1.0.60300"}),
        ("/usr/lib/libcudnn_ops.so.9", {}),
        ("/usr/lib/libc.so.6", {}),
        ("/models/libdnnl.so.txt", {}),
        ("[heap]", {}),
        ("", {}),
    ],
)
def test_operator_libraries_are_told_by_their_file(path: str, found: dict[str, str]) -> None:
    assert mapped_libraries(MAPPED.format(path=path)) == found


def test_a_library_is_mapped_in_many_pieces_and_named_once() -> None:
    text = maps("/l/libnccl.so.2", "/l/libnccl.so.2", "/l/libcudart.so.12")

    assert list(mapped_libraries(text).items()) == [("cudart", "12"), ("nccl", "2")]


def test_two_copies_that_differ_are_both_named() -> None:
    text = maps("/usr/lib/libcudnn.so.8.9.2", "/venv/lib/libcudnn.so.9.1.0", "/other/lib/libcudnn.so.9.1.0")

    assert mapped_libraries(text) == {"cudnn": "8.9.2 and 9.1.0"}


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """An environment as a wheel of NVIDIA leaves it."""
    info = tmp_path / "site-packages" / "nvidia_cublas_cu12-12.1.3.1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: nvidia-cublas-cu12\nVersion: 12.1.3.1\n")
    (info / "RECORD").write_text("nvidia/cublas/lib/libcublas.so.12,sha256=x,1\n")
    return tmp_path / "site-packages"


def test_the_package_tells_what_the_file_name_does_not(site: Path) -> None:
    text = maps(
        f"{site}/nvidia/cublas/lib/libcublas.so.12", f"{site}/nvidia/cudnn/lib/libcudnn.so.9", "/l/libgomp.so.1"
    )

    libraries = mapped_libraries(text, installed_version)

    assert libraries == {"cublas": "12.1.3.1", "cudnn": "9", "gomp": "1"}


def test_only_short_versions_are_asked_for() -> None:
    asked: list[str] = []
    text = maps("/l/libcudart.so.12.1.105", "/l/libgomp-98b21ff3.so.1", "/l/libnccl.so.2")

    mapped_libraries(text, asked.append)

    assert asked == ["/l/libnccl.so.2"]
