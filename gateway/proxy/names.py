"""How long a model id, a selector or a DNA prefix may be: they stand in heads, log lines and messages of ours."""

from __future__ import annotations

from typing import Final

from gateway.proxy.problem import refuse

MAX_NAME: Final = 256
"""Characters."""


def check_names(*names: str | bytes | None) -> None:
    """Check names where they are read.

    Raises:
        Refused: One of them is too long.
    """
    if any(name is not None and len(name) > MAX_NAME for name in names):
        detail = f"A model id, selector or DNA prefix has at most {MAX_NAME} characters."
        raise refuse(400, "bad_request", detail, close=False)
