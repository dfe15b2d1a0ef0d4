"""A model and its post-processing bound into one file that reads nothing from outside."""
