"""What a worker is: digests, canonical form, genome, DNA, and how all of it is measured, signed, guarded and shown.

Format `inference-dna/1`. The files of this folder are its core and read no file, no clock and no environment; `guard`
and `middleware` are where a worker enters, and stand on the folders: `measure` reads the machine, `making` writes
manifests, `difference` tells two apart, `trust` signs and verifies, `starting` and `serving` are the worker's own. All
of it imports the standard library only; what needs more says which extra brings it.
"""
