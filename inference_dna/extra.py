"""Turns a missing optional package into a sentence that names the extra."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from inference_dna.canonical import Refused


@contextmanager
def needing(package: str, extra: str) -> Iterator[None]:
    """Import inside the block; what is missing is refused.

    Args:
        package: What people install.
        extra: The extra of this distribution that brings it.

    Raises:
        Refused: An import failed.
    """
    try:
        yield
    except ImportError as error:
        raise Refused(f"This needs the package {package}; install dna-gateway[{extra}].") from error
