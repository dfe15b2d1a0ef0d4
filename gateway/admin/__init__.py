"""The admin port: health, status, metrics, explanations."""
