"""How PyTorch is built, set and computes in this process (provenance.md sections 5 and 6)."""
