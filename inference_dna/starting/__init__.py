"""What the guard compares before a worker may serve."""
