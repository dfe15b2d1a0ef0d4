"""Reference workers around real models."""
