"""Canary assignment: a bucket in, a slice out. No clock, no chance, no IO."""
