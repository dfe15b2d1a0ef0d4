"""Keeps requests from reaching each other: what they could write to is frozen, and compared."""
