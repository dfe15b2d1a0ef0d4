"""Completion in shells is typer's own; one line of its script for zsh is missing.

zsh reads the script it finds on its path at the first TAB of a session and takes that for the completion
(zshcompsys(1), "Autoloaded files"). typer's script then only says how to complete, and the first TAB gives nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

_OPTIONS = ("--install-completion", "--show-completion")
_COMPLETE_AT_ONCE = """
if [[ "$funcstack[1]" == "_%(prog_name)s" ]]; then
  %(complete_func)s
fi
"""


def complete_at_the_first_tab(arguments: Sequence[str]) -> None:
    """Let typer's script complete as soon as zsh reads it; for the options that give the script."""
    if any(option in arguments for option in _OPTIONS):
        from typer._completion_shared import _completion_scripts

        script = _completion_scripts["zsh"]
        if _COMPLETE_AT_ONCE not in script:
            _completion_scripts["zsh"] = script + _COMPLETE_AT_ONCE
