"""What a worker is: digests, canonical form, genome, DNA and how they are measured.

Format `inference-dna/1`. The core (everything outside `measure`) reads no file, no clock and no environment; all of
it needs the standard library only, so a worker image installs just this package.
"""
