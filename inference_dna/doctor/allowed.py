"""Comments that silence one line: `# dna: allow <rule> <reason>`, on the line itself or alone on the line above."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from inference_dna.doctor.finding import Finding, Rule

_COMMENT = re.compile(r"#\s*dna:\s*allow\b(.*)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Allowance:
    """One comment: the line it stands for, the rule it names, and the reason; `fault` where it silences nothing."""

    line: int
    rule: str
    reason: str
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Sifted:
    """Findings that stand, and those that a comment silences, each with its reason."""

    standing: tuple[Finding, ...]
    allowed: tuple[tuple[Finding, str], ...]


def allowances(source: bytes) -> tuple[Allowance, ...]:
    """Read the comments of a file that can be parsed."""
    if b"allow" not in source:
        return ()
    lines = io.BytesIO(source)
    return tuple(
        _read(token, match[1]) for token in tokenize.tokenize(lines.readline)
        if token.type == tokenize.COMMENT and (match := _COMMENT.match(token.string))
    )  # fmt: skip


def sift(findings: Iterable[Finding], comments: Iterable[Allowance], file: str) -> Sifted:
    """Apply the comments; one that says no rule or no reason is a finding itself."""
    comments, found = tuple(comments), tuple(findings)
    reasons = {(each.line, each.rule): each.reason for each in comments if not each.fault}
    standing = tuple(each for each in found if (each.line, each.rule.value) not in reasons)
    allowed = tuple((each, reasons[each.line, each.rule.value]) for each in found if each not in standing)
    return Sifted((*standing, *_faults(comments, file)), allowed)


def _read(token: tokenize.TokenInfo, text: str) -> Allowance:
    rule, _, reason = text.strip().partition(" ")
    rule = rule.rstrip(":")
    is_alone = token.line.strip().startswith("#")
    line = token.start[0] + (1 if is_alone else 0)
    if rule not in set(Rule):
        return Allowance(line, rule, "", f"{rule!a} is no rule")
    if not reason.strip(" :-"):
        return Allowance(line, rule, "", f"no reason is given for {rule}")
    return Allowance(line, rule, reason.strip(" :-"))


def _faults(comments: Iterable[Allowance], file: str) -> Iterator[Finding]:
    for each in comments:
        if each.fault:
            yield Finding(file, each.line, Rule.ALLOW, f"the comment silences nothing: {each.fault}")
