"""A worker's standing for tests: ready, with the small genome of `tests.support.manifests`."""

from __future__ import annotations

from inference_dna.assurance import Assurance
from inference_dna.genome import genome
from inference_dna.measure.healthz import Served
from inference_dna.serving.standing import Standing
from tests.support.manifests import SUBJECT, genome_of

GENOME = genome(genome_of())
DIGESTS = GENOME.digests


def ready_standing() -> Standing:
    standing = Standing(Served(SUBJECT.model_id, SUBJECT.version, Assurance.FULL_HASH))
    standing.measured(GENOME)
    standing.ready()
    return standing
