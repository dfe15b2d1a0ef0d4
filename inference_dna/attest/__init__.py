"""Measures an engine that nobody can change, from outside, and answers `/healthz` for it (provenance.md section 7)."""
