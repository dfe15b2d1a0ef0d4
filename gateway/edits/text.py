"""Change members of a document's text and leave the rest of it as its author wrote it: comments, order, indentation.

JSON stays JSON with its indentation; YAML stays YAML with its comments. Pure: text in, text out.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from typing import Any, TypeAlias

Edit: TypeAlias = Callable[[dict[str, Any]], None]
"""Changes the document it is handed; texts it puts in are quoted where YAML could take them for a number."""

_INDENT = re.compile(r"\n([ \t]+)\S")
_MARK = re.compile(r"^---(?:\s|$)", re.MULTILINE)
_ONE_LINE = 1_000_000
"""Columns: no line is broken that was not."""


def edited(text: bytes, edit: Edit) -> bytes:
    """Change a document.

    Args:
        text: A document that could be read strictly (`contracts.reading`).
        edit: What is done to it.
    """
    plain = text.decode()
    ending = "\r\n" if "\r\n" in plain else "\n"
    plain = plain.replace("\r\n", "\n")
    changed = _edited_json(plain, edit) if plain.lstrip().startswith("{") else _edited_yaml(plain, edit)
    return changed.replace("\n", ending).encode()


def _edited_json(text: str, edit: Edit) -> str:
    value = json.loads(text)
    edit(value)
    indent = _INDENT.search(text)
    end = text[len(text.rstrip()) :]
    return json.dumps(value, indent=indent[1] if indent else None, ensure_ascii=False) + end


def _edited_yaml(text: str, edit: Edit) -> str:
    from ruamel.yaml import YAML
    from ruamel.yaml.resolver import VersionedResolver
    from ruamel.yaml.util import load_yaml_guess_indent

    class Resolver(VersionedResolver):
        """As gateways read: a number with an exponent has a point, so that the DNA prefix 12e4 is a text."""

        def resolve(self, kind: Any, value: Any, implicit: Any) -> Any:
            tag = super().resolve(kind, value, implicit)
            is_text = str(tag).endswith(":float") and "." not in value
            return self.DEFAULT_SCALAR_TAG if is_text else tag

    yaml = YAML()
    yaml.Resolver = Resolver
    yaml.preserve_quotes, yaml.width = True, _ONE_LINE
    yaml.explicit_start = _MARK.search(text) is not None
    _, sequence, dash = load_yaml_guess_indent(text)
    yaml.indent(mapping=_mapping_indent(text), sequence=sequence or 4, offset=2 if dash is None else dash)
    value = yaml.load(text)
    edit(value)
    written = io.StringIO()
    yaml.dump(value, written)
    return written.getvalue()


def _mapping_indent(text: str) -> int:
    """How far members stand in, read off the first member below a member."""
    found = re.search(r"^[^\s#-][^\n]*:[ \t]*(?:#[^\n]*)?\n( +)[^\s#-]", text, re.MULTILINE)
    return len(found[1]) if found else 2


def quoted_text(text: str) -> str:
    """A text that stays one in YAML, whatever it looks like: `1234` would be read as a number."""
    from ruamel.yaml.scalarstring import DoubleQuotedScalarString

    made: str = DoubleQuotedScalarString(text)
    return made
