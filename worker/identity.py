"""What a worker says it is, and what its birth certificate says about that."""

from __future__ import annotations

from inference_dna.assurance import Assurance
from inference_dna.genome import ARTIFACT_SECTIONS, GenomeDigests
from inference_dna.manifest import Manifest
from inference_dna.measure.healthz import Served
from inference_dna.semver import read_version

NO_MANIFEST = "none"
AGREES = "agrees"


class Nameless(Exception):
    """Nothing says which model and version a bundle is; the message says what to do."""


def claim(manifest: Manifest | None, *, model_id: str | None = None, version: str | None = None) -> Served:
    """Decide what the worker calls itself: what it was told, else what its manifest says.

    Args:
        manifest: The bundle's, None where it has none.
        model_id: What the operator claims.
        version: What the operator claims, SemVer with or without a leading `v`.

    Raises:
        Nameless: A name is missing on both sides, or the version is no SemVer version.
    """
    subject = manifest.subject if manifest else None
    model_id = model_id or (subject.model_id if subject else None)
    version = version or (subject.version if subject else None)
    if not model_id or not version:
        raise Nameless("The bundle has no manifest that names it; say --model-id and --version.")
    read = read_version(version)
    if read is None:
        raise Nameless(f"{version!r} is no version; write it like v2.4.0.")
    # The bytes that were hashed are the bytes that were loaded: nothing more is seen, nothing less.
    return Served(model_id, read, Assurance.FULL_HASH)


def manifest_note(manifest: Manifest | None, digests: GenomeDigests) -> str:
    """Say how the measured bundle relates to its manifest: `none`, `agrees`, or `differs: ` and the sections.

    It is shown, not acted on: whether this worker may answer is the gateway's to say, by the contract.
    """
    if manifest is None:
        return NO_MANIFEST
    differing = [name for name in ARTIFACT_SECTIONS if manifest.digests[name] != getattr(digests, name)]
    return f"differs: {', '.join(differing)}" if differing else AGREES
