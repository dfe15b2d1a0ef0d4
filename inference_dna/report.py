"""What `dna digest` prints: every digest of a genome under its name."""

from __future__ import annotations

from inference_dna.genome import SECTIONS, parse_genome

DIGESTS = (*SECTIONS, "stack", "artifact", "runtime")


def digest_report(genome_text: str | bytes, input_hash: str = "") -> dict[str, str]:
    """Compute all digests of a genome document and the DNA of one answer.

    Args:
        genome_text: The document.
        input_hash: 64 bare hex, or the empty text for the DNA that `/healthz` shows.

    Returns:
        The five sections, `stack`, `artifact` and `runtime`, each 64 bare hex as in the test vectors (dna.md section
        14), and `dna`, 16 hex.

    Raises:
        Refused: The genome or the input hash breaks a rule of dna.md.
    """
    digests = parse_genome(genome_text).digests
    return {name: getattr(digests, name) for name in DIGESTS} | {"dna": digests.dna(input_hash)}
