"""What tells two manifests apart, and how it is told."""
