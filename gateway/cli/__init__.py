"""The `dna` command. Heavy imports stand inside the sub-commands."""
