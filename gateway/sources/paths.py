"""Which files of a folder are documents, and under which key. Pure: names in, names out."""

from __future__ import annotations

from contracts.key import DocumentKey, parse_key

TOP_FOLDERS = ("contracts", "routes")
_ENDINGS = (".json", ".yaml", ".yml")
_BACKUPS = ("~", ".swp", ".swo", ".swx", ".tmp", ".bak", ".orig")
_VIM_TRIAL = "4913"
"""A file vim makes for a moment to see whether it may write here."""
_PROSE = (".md", ".txt", ".rst")


def is_passed_over(name: str) -> bool:
    """Say whether a file or folder of this name is none of ours: hidden, an editor's leftover, or text for people."""
    if name.startswith((".", "#")) or name == _VIM_TRIAL:
        return True
    return name.endswith(_BACKUPS) or name.endswith(_PROSE)


def parse_path(path: str) -> DocumentKey:
    """Read the key off a file's path under the root, `/` between components.

    Raises:
        KeyRefused: The path names no contract and no route; the message says why.
    """
    for ending in _ENDINGS:
        if path.endswith(ending):
            return parse_key(path.removesuffix(ending))
    return parse_key(path)
