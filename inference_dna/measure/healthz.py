"""What a worker says of itself: the body of `/healthz` and the headers of every answer (dna.md section 6)."""

from __future__ import annotations

from dataclasses import dataclass

from inference_dna import headers
from inference_dna.assurance import Assurance
from inference_dna.canonical import Json
from inference_dna.digest import ALGORITHM
from inference_dna.genome import Genome, GenomeDigests
from inference_dna.headers import FORMAT_NAME

READY = "ok"
LOADING = "loading"


@dataclass(frozen=True, slots=True)
class Served:
    """What a worker serves under which name. The version is written with `v`."""

    model_id: str
    version: str
    assurance: Assurance


def healthz_document(genome: Genome, served: Served, *, boot_id: str, uptime_seconds: int) -> dict[str, Json]:
    """Write the body of a ready worker; its HTTP status is 200.

    Args:
        genome: What was measured; hardware and framework are shown whole, evidence included.
        served: What it is called.
        boot_id: 32 random hex, new at every process start and whenever anything inside may have changed.
        uptime_seconds: Whole seconds since the process started.
    """
    digests = genome.digests
    return {
        "status": READY,
        "dna": digests.dna(),
        "digest": ALGORITHM + digests.runtime,
        "model_id": served.model_id,
        "version": served.version,
        "model_fingerprint": ALGORITHM + digests.weights,
        "tokenizer_fingerprint": ALGORITHM + digests.tokenizer,
        "postprocess_fingerprint": ALGORITHM + digests.postprocess,
        "hardware": genome.sections["hardware"],
        "framework": genome.sections["framework"],
        "boot_id": boot_id,
        "uptime_seconds": uptime_seconds,
        "format": FORMAT_NAME,
        "assurance": served.assurance.value,
        "bind": list(genome.bind),
        "framework_fingerprint": ALGORITHM + digests.framework,
        "hardware_fingerprint": ALGORITHM + digests.hardware,
    }


def loading_document(served: Served, *, boot_id: str, uptime_seconds: int, reason: str) -> dict[str, Json]:
    """Write the body of a worker that is not measured, or whose measurement failed; its HTTP status is 503.

    Args:
        served: What it will be called.
        boot_id: As in `healthz_document`.
        uptime_seconds: As in `healthz_document`.
        reason: A sentence that names what is going on, or the file or library that could not be read.
    """
    return {
        "status": LOADING,
        "reason": reason,
        "model_id": served.model_id,
        "version": served.version,
        "boot_id": boot_id,
        "uptime_seconds": uptime_seconds,
        "format": FORMAT_NAME,
    }


def stamps(digests: GenomeDigests, served: Served, *, input_hash: str = "") -> list[tuple[str, str]]:
    """Write the headers of one answer.

    Args:
        digests: What was measured.
        served: What it is called.
        input_hash: 64 bare hex, or the empty text where no input was hashed.

    Raises:
        Refused: The input hash is anything else.
    """
    stamped = [
        (headers.DNA, digests.dna(input_hash)),
        (headers.DIGEST, ALGORITHM + digests.runtime),
        (headers.MODEL_ID, served.model_id),
        (headers.MODEL_VERSION, served.version),
        (headers.ASSURANCE, served.assurance.value),
    ]
    return [*stamped, (headers.INPUT_HASH, input_hash)] if input_hash else stamped
