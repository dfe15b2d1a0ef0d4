"""The model in onnxruntime: token ids in, one score per intent out."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import onnxruntime

from inference_dna.canonical import Json

_ERRORS_ONLY = 3
_THREADS = 1
"""One thread per request: the order of sums never depends on load, and requests are what runs in parallel."""
_PROVIDERS = ("CPUExecutionProvider",)
_ELEMENT = {"tensor(float)": "float32", "tensor(float16)": "float16", "tensor(double)": "float64"}


class ModelRefused(Exception):
    """A model file the engine cannot load, or one with other inputs or outputs than a classifier has."""


class Classifier:
    """A session loaded from the bytes of `model.onnx`. It keeps nothing between calls; threads may share it."""

    def __init__(self, content: bytes, *, outputs: int) -> None:
        self._session = _load(content)
        _check_shape(self._session, outputs)
        self._input = self._session.get_inputs()[0].name

    def score(self, ids: Sequence[int]) -> list[float]:
        """Score one message; as many scores as the model has intents."""
        (scores,) = self._session.run(None, {self._input: np.array([ids], dtype=np.int64)})
        return [float(score) for score in scores[0]]

    def loaded_as(self) -> dict[str, Json]:
        """The member `load` of the weights section: what the session says, not what was asked for."""
        return {"dtype": _ELEMENT.get(self._session.get_outputs()[0].type), "quantization": None}

    def engine(self) -> dict[str, Json]:
        """Name, version and commit of the library that is running."""
        commit = re.search(r"git-commit-id=(\w+)", onnxruntime.get_build_info())
        return {
            "name": "onnxruntime",
            "version": onnxruntime.__version__,
            "commit": commit[1] if commit else None,
        }

    def flags(self) -> dict[str, Json]:
        """What shapes computation, read back from the session."""
        options = self._session.get_session_options()
        return {
            "providers": list(self._session.get_providers()),
            "graph_optimization": options.graph_optimization_level.name,
            "execution_mode": options.execution_mode.name,
            "batch": 1,
        }

    def parallel(self) -> dict[str, Json]:
        """How the work of one request is split, read back from the session."""
        options = self._session.get_session_options()
        return {
            "data": 1,
            "expert": 1,
            "pipeline": 1,
            "tensor": 1,
            "inter_op_threads": options.inter_op_num_threads,
            "intra_op_threads": options.intra_op_num_threads,
        }

    def deterministic(self) -> dict[str, Json]:
        """What repeated runs may rely on. Every request is a batch of its own, so no neighbour changes its sums."""
        options = self._session.get_session_options()
        return {"batch_invariant": True, "onnxruntime": options.use_deterministic_compute}


def _load(content: bytes) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = _THREADS
    options.use_deterministic_compute = True
    options.log_severity_level = _ERRORS_ONLY
    try:
        return onnxruntime.InferenceSession(content, options, providers=list(_PROVIDERS))
    # The library has an exception class per status and no common one.
    except Exception as error:
        raise ModelRefused(f"model.onnx cannot be loaded: {error}") from error


def _check_shape(session: onnxruntime.InferenceSession, outputs: int) -> None:
    ids, scores = session.get_inputs(), session.get_outputs()
    if len(ids) != 1 or ids[0].type != "tensor(int64)":
        raise ModelRefused("model.onnx must have one input of token ids.")
    if len(scores) != 1 or scores[0].shape[-1] != outputs:
        raise ModelRefused(f"model.onnx must have one output with {outputs} scores, one per label of config.json.")
