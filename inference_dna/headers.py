"""Names a worker and the gateway write on the wire (dna.md section 6), in small letters."""

from __future__ import annotations

FORMAT_NAME = "inference-dna/1"
"""The only format this package reads and writes; its first 14 characters begin every hashed text."""

DNA = "x-inference-dna"
DIGEST = "x-inference-digest"
INPUT_HASH = "x-inference-input-hash"
MODEL_ID = "x-model-id"
MODEL_VERSION = "x-model-version"
ASSURANCE = "x-inference-assurance"
FORMAT = "x-inference-format"
