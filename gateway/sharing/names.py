"""What a gateway is called among the members: its own name, and what no other life of any gateway has."""

from __future__ import annotations

import re

_APART = "~"
_UNFIT = re.compile(r"[^A-Za-z0-9._-]")
_NAME = re.compile(r"[A-Za-z0-9._-]+~[A-Za-z0-9]+")
_LONGEST = 100


def member_name(gateway: str, life: str) -> str:
    """Make the name, fit for a key of Consul.

    Args:
        gateway: What people call the gateway; two may be called the same.
        life: Letters and digits that were never used before.
    """
    return f"{_UNFIT.sub('_', gateway)[:_LONGEST]}{_APART}{life}"


def is_member_name(text: str) -> bool:
    """Say whether a key may be a member's; others, whoever wrote them, are passed over: names are shown to people."""
    return len(text) <= 2 * _LONGEST and _NAME.fullmatch(text) is not None


def gateway_of(member: str) -> str:
    """Give what people call a member."""
    return member.partition(_APART)[0]
