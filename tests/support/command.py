"""A command of `dna` run in the test's own process."""

from __future__ import annotations

from collections.abc import Callable

Run = Callable[..., tuple[int, str, str]]
"""Takes the words of the command line; gives exit code, standard output, standard error."""
