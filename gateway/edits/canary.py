"""Change a route's canary rules: pure, on the plain value of the document.

A rule that is no longer wanted stays, with 0 %. The place of a rule in the list decides which slice of [0, 1) it owns
(`contracts.canary.slices`): taking one away would move the users of every rule after it.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from contracts.faults import quoted
from contracts.version import Version, VersionError
from gateway.edits.text import quoted_text

Route: TypeAlias = dict[str, Any]
Rule: TypeAlias = dict[str, Any]

ALL = 100
SMALLEST = 0.01
"""Percent."""


class CanaryRefused(ValueError):
    """The change cannot be made; the message says what to do."""


def set_share(route: Route, version: Version, percentage: float, *, dna_prefix: str | None = None) -> None:
    """Give a version its share, by its rule or a new last one.

    Raises:
        CanaryRefused: Several rules are of that version and no prefix says which; or the share is no percentage.
    """
    if not (percentage == 0 or SMALLEST <= percentage <= ALL):
        raise CanaryRefused(f"{percentage:g} is no percentage to give; write 0 (none), or {SMALLEST:g} to {ALL} (all).")
    rule = _rule(route, version, dna_prefix)
    if rule is None:
        rule = {"version": quoted_text(str(version))}
        if dna_prefix is not None:
            rule["dna_prefix"] = quoted_text(dna_prefix)
        route["canary_rules"] = route.get("canary_rules") or []
        route["canary_rules"].append(rule)
    rule["traffic_percentage"] = _shortest(percentage)


def promote(route: Route, version: Version, *, default: str | None = None) -> None:
    """Make a version the default and end its canary; other rules keep theirs.

    Args:
        route: The route.
        version: The version that has proved itself.
        default: The new default where it shall be a range; the exact version otherwise.
    """
    route["default"] = quoted_text(default or str(version))
    for rule in _rules_of(route, version):
        rule["traffic_percentage"] = 0


def abort(route: Route, version: Version | None) -> None:
    """Take the share of a version's canary, or with None of all canaries.

    Raises:
        CanaryRefused: There is no such rule.
    """
    rules = _rules(route) if version is None else _rules_of(route, version)
    if not rules:
        named = "any canary rule" if version is None else f"a canary rule for {version}"
        raise CanaryRefused(f"this route does not have {named}; `dna route get` shows it.")
    for rule in rules:
        rule["traffic_percentage"] = 0


def _rule(route: Route, version: Version, dna_prefix: str | None) -> Rule | None:
    rules = [one for one in _rules_of(route, version) if dna_prefix is None or one.get("dna_prefix") == dna_prefix]
    if len(rules) > 1:
        prefixes = ", ".join(quoted(rule.get("dna_prefix")) for rule in rules)
        raise CanaryRefused(f"{version} has {len(rules)} canary rules; say which by --dna-prefix: {prefixes}.")
    return rules[0] if rules else None


def _rules_of(route: Route, version: Version) -> list[Rule]:
    return [rule for rule in _rules(route) if _version(rule) == version]


def _rules(route: Route) -> list[Rule]:
    return list(route.get("canary_rules") or [])


def _version(rule: Rule) -> Version | None:
    try:
        return Version.parse(str(rule.get("version")))
    except VersionError:
        return None


def _shortest(percentage: float) -> int | float:
    return int(percentage) if percentage == int(percentage) else percentage
