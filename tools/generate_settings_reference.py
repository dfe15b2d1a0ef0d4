"""Write docs/settings.md from the settings themselves, or say that it is stale: `--check`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic_core import PydanticUndefined

from gateway.settings import Settings, variable

PAGE = Path(__file__).resolve().parents[1] / "docs" / "settings.md"

HEAD = """\
# Settings

Written by `make schemas` from `gateway/settings.py`; edit that file, not this one.

Every setting is an environment variable; those you reach for by hand are options of `dna gateway` too
(`dna gateway --help` lists them). An option comes before the variable, the variable
before the default. Durations are seconds, sizes are bytes. A value that cannot be used stops the gateway at the start,
with a sentence that names the variable; a `GATEWAY_*` variable that is no setting is reported.

What a single version needs (times, limits, attempts, strikes) stands in its contract, not here.

| variable | default | what it is |
| --- | --- | --- |
"""


def main(arguments: list[str]) -> int:
    """Write the page, or with `--check` compare it."""
    text = HEAD + "".join(f"{row}\n" for row in rows())
    if arguments != ["--check"]:
        PAGE.write_text(text, encoding="utf-8")
        return 0
    if PAGE.read_text(encoding="utf-8") == text:
        return 0
    print(f"{PAGE.name} is stale; run `make schemas` and commit what it writes.", file=sys.stderr)
    return 1


def rows() -> Iterator[str]:
    """Write one row per setting, in the order of the code."""
    for name, field in Settings.model_fields.items():
        default = "the host's name" if field.default_factory else _shown(field.default)
        yield f"| `{variable(name)}` | {default} | {field.description} |"


def _shown(default: Any) -> str:
    if default is None or default == () or default is PydanticUndefined:
        return "none"
    if isinstance(default, float):
        return f"`{default:g}`"
    return f"`{default}`"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
