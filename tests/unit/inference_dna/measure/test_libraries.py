from __future__ import annotations

import pytest

from inference_dna.measure.libraries import mapped_libraries

MAPPED = "7f2a00000000-7f2a00100000 r-xp 00000000 08:01 1234                       {path}"


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
    lines = [MAPPED.format(path=path) for path in ("/l/libnccl.so.2", "/l/libnccl.so.2", "/l/libcudart.so.12")]

    assert list(mapped_libraries("\n".join(lines)).items()) == [("cudart", "12"), ("nccl", "2")]
