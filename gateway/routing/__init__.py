"""Snapshot and request in, decision with reasons out. No clock, no chance, no IO, no log.

Order of reading: snapshot, asking, decision, resolve and selection (which version), pickers (which instance), router.
"""
