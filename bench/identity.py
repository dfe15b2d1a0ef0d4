"""The identity that the benchmark's upstreams claim, and the contract entry that accepts it.

A runtime that does not exist, but consistent: every answer passes the same DNA check as a real worker's.
"""

from __future__ import annotations

import json
from typing import Any

from bench.work import MODEL, VERSION, request_body
from inference_dna.digest import hashed
from inference_dna.genome import GenomeDigests
from inference_dna.inputs import hash_bytes

_SECTIONS = ("weights", "tokenizer", "postprocess", "framework", "hardware", "stack", "artifact", "runtime")
DIGESTS = GenomeDigests(**{name: hashed(f"bench/{name}", MODEL) for name in _SECTIONS})
INPUT_HASH = hash_bytes("application/json", request_body())


def accepted() -> dict[str, str]:
    """One entry of a contract's `dna` list."""
    return {"dna": DIGESTS.dna(), "digest": f"sha256:{DIGESTS.runtime}", "label": "bench"}


def answer_headers(model_id: str = MODEL, *, input_hash: str = INPUT_HASH) -> dict[str, str]:
    """What a worker stamps on an answer (`dna.md` section 6)."""
    stamps = {
        "X-Inference-DNA": DIGESTS.dna(input_hash),
        "X-Inference-Digest": f"sha256:{DIGESTS.runtime}",
        "X-Model-Id": model_id,
        "X-Model-Version": VERSION,
        "X-Inference-Assurance": "full-hash",
    }
    return stamps | ({"X-Inference-Input-Hash": input_hash} if input_hash else {})


def healthz_headers(model_id: str = MODEL) -> dict[str, str]:
    """What a worker stamps on `/healthz`: the DNA of the empty input."""
    return answer_headers(model_id, input_hash="")


def healthz_body(model_id: str = MODEL) -> str:
    """The `/healthz` document as one line of JSON."""
    document: dict[str, Any] = {
        "status": "ok",
        "dna": DIGESTS.dna(),
        "digest": f"sha256:{DIGESTS.runtime}",
        "model_id": model_id,
        "version": VERSION,
        "model_fingerprint": f"sha256:{DIGESTS.weights}",
        "tokenizer_fingerprint": f"sha256:{DIGESTS.tokenizer}",
        "postprocess_fingerprint": f"sha256:{DIGESTS.postprocess}",
        "hardware": {"accelerators": [], "cpu": {"arch": "x86_64", "isa": ["avx2"]}},
        "framework": {"engine": {"name": "bench", "version": "1"}},
        "boot_id": "0" * 32,
        "uptime_seconds": 1,
        "format": "inference-dna/1",
        "assurance": "full-hash",
    }
    return json.dumps(document, separators=(",", ":"))
