"""`dna config show`: every setting as it is now."""

from __future__ import annotations

import re
from typing import Any

from gateway.cli.output import WRONG_USAGE, Format, Stop, print_as, print_table
from gateway.settings import SettingsRefused, load, show

_USER = re.compile(r"//[^/@]*@")


def print_settings(*, output: Format) -> None:
    """Print the settings of this environment.

    Raises:
        Stop: One of them cannot be used.
    """
    try:
        shown = list(show(load()))
    except SettingsRefused as error:
        raise Stop(str(error).replace("\n", "\ndna: "), WRONG_USAGE) from error
    if output is not Format.TABLE:
        print_as(
            output,
            [
                {
                    "name": one.name,
                    "variable": one.variable,
                    "value": _without_user(one.value),
                    "default": one.default,
                    "origin": one.origin,
                    "description": one.description,
                }
                for one in shown
            ],
        )
        return
    rows = [(one.variable, _text(one.value), one.origin, one.description) for one in shown]
    print_table(("VARIABLE", "VALUE", "ORIGIN", "WHAT IT DOES"), rows)


def _text(value: Any) -> str:
    return "-" if value is None else str(_without_user(value))


def _without_user(value: Any) -> Any:
    """Hide user and password of a URL: this output ends up in tickets."""
    return _USER.sub("//***@", value) if isinstance(value, str) else value
