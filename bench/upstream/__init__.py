"""What stands behind every proxy: answers at once, or streams at a fixed rate."""
