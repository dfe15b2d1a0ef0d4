"""Identity and liveness of instances: facts in, states out. No clock, no chance, no IO."""
