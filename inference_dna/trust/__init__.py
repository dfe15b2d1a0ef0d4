"""Who signed a model, and whether a folder is still what was signed."""
