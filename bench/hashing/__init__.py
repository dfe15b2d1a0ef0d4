"""How fast a model folder is hashed, beside the tools that do the same."""
