"""Accelerators: what they are, whichever library or command tells (provenance.md section 6)."""
