"""Which runtime a contract of the demo accepts: that of a worker whose artifact is the one its version was made with.

No digest that is committed can know the processor and the libraries of this machine, so the demo measures them here.
The artifact (weights, tokenizer, post-processing) is not taken on trust: it must be that of the committed manifest.
"""

from __future__ import annotations

from collections.abc import Mapping

from inference_dna.canonical import Json, Refused, canonical
from inference_dna.digest import ALGORITHM, hashed, parse_digest
from inference_dna.genome import ARTIFACT_SECTIONS, GenomeDigests, artifact_digest, stack_digest
from inference_dna.headers import FORMAT_NAME
from inference_dna.manifest import Manifest

FINGERPRINTS = {
    "weights": "model_fingerprint",
    "tokenizer": "tokenizer_fingerprint",
    "postprocess": "postprocess_fingerprint",
    "framework": "framework_fingerprint",
    "hardware": "hardware_fingerprint",
}
"""Section and the member of `/healthz` that carries its digest (dna.md section 6)."""


class EnrolmentRefused(Exception):
    """A worker is not what its version's manifest says; the message names what differs."""


def accepted_entry(healthz: Mapping[str, Json], manifest: Manifest, *, version: str, label: str) -> dict[str, str]:
    """Write the entry by which a contract accepts this worker.

    Args:
        healthz: What the worker answers at `/healthz`.
        manifest: The committed manifest of the version.
        version: The version whose contract the entry is for; the manifest must be of the same.
        label: What people call this stack.

    Returns:
        `dna`, `digest` and `label`, as a contract lists them (dna.md section 10).

    Raises:
        EnrolmentRefused: The artifact differs from the manifest's, or the worker's statements contradict each other.
    """
    if manifest.subject is None or manifest.subject.version != version:
        raise EnrolmentRefused(f"The manifest is of {manifest.subject}, not of {version}.")
    try:
        return _entry(healthz, manifest, label)
    except Refused as error:
        raise EnrolmentRefused(f"The worker's /healthz cannot be read: {error}") from error


def _entry(healthz: Mapping[str, Json], manifest: Manifest, label: str) -> dict[str, str]:
    sections = {section: parse_digest(_text(healthz, member)) for section, member in FINGERPRINTS.items()}
    artifact = artifact_digest(sections)
    if artifact != manifest.digests["artifact"]:
        differing = [name for name in ARTIFACT_SECTIONS if sections[name] != manifest.digests[name]]
        raise EnrolmentRefused(
            f"The worker's artifact {artifact[:12]} is not the manifest's {manifest.digests['artifact'][:12]}; "
            f"these sections differ: {', '.join(differing)}."
        )
    digests = GenomeDigests(**sections, stack=stack_digest(sections), artifact=artifact, runtime=_runtime(sections))
    stated = _text(healthz, "dna"), _text(healthz, "digest")
    measured = digests.dna(), ALGORITHM + digests.runtime
    if stated != measured:
        raise EnrolmentRefused(
            f"The worker states the DNA and digest {' '.join(stated)}; from its section digests follow "
            f"{' '.join(measured)}."
        )
    return {"dna": measured[0], "digest": measured[1], "label": label}


def _runtime(sections: Mapping[str, str]) -> str:
    """Anybody who sees five section digests can recompute all the rest (dna.md section 4)."""
    return hashed("runtime", canonical({"format": FORMAT_NAME, "bind": [], **sections}))


def _text(healthz: Mapping[str, Json], member: str) -> str:
    value = healthz.get(member)
    if not isinstance(value, str):
        raise EnrolmentRefused(f"The worker's /healthz has no {member}.")
    return value
