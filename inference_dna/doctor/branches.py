"""Rules about post-processing that is chosen by a version's name or by the environment."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from inference_dna.doctor.chains import chain_of
from inference_dna.doctor.finding import Rule
from inference_dna.doctor.module import Module, Scope
from inference_dna.measure.code.reads import Read, find_reads

Place = tuple[Rule, ast.AST, str]
_VERSION = re.compile(r"_*(\w+_)?(ver|version)(_\w+)?(\(\)|\[\])?", re.IGNORECASE)
_NOT_OF_A_MODEL = re.compile(
    r"(sys|platform|torch|transformers|numpy|np|packaging|django|fastapi|flask)\b|__version__|version_info"
    r"|(api|python|py|http|schema|protocol|torch|cuda|driver|os|app|client|transformers|library|lib|format|tls|ssl)_?version",
    re.IGNORECASE,
)
_WRITTEN_VERSION = re.compile(r"[vV]?\d+(\.\d+)*([.\-+_].*)?|.*[-_@:]?[vV]\d+(\.\d+)*.*")
_OF_HTTP = ("0.9", "1.0", "1.1")
_PREFIX_METHODS = frozenset({"startswith", "endswith", "removeprefix"})
_SHAPING = re.compile(
    r".*(version|post_?proc|temperature|top_?[kp]|penalty|bad_?words|banned|stop_?words|stop_?seq|filter|template|sampl"
    r"|max_(new_)?tokens|decod|prompt|truncat|normali[sz]|strip|lower_?case|threshold|seed).*",
    re.IGNORECASE,
)
"""Names of what shapes an answer."""
_POST_PROCESSING = re.compile(
    r".*(post_?proc|clean|filter|sanitize|truncat|normali[sz]|decode|generat|format_(answer|output|reply|response)|detok).*",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Environment:
    """What a file reads of the environment: reads by line, and names that were given a version that way."""

    reads: Mapping[int, Read]
    labels: frozenset[str]

    def read_in(self, node: ast.expr) -> Read | None:
        """The read that stands in the lines of an expression."""
        lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
        return next((self.reads[line] for line in lines if line in self.reads), None)


def branches(module: Module, source: bytes) -> Iterator[Place]:
    """Find where a label or a variable chooses what is done to an answer: rule, place and what stands there."""
    environment = _environment(module, source)
    tested = set(_tested_names(module))
    for scope in module.scopes:
        for node in scope.nodes:
            yield from _of_version(node, module, scope, environment)
            if environment.reads:
                yield from _of_environment(node, scope, environment, tested)


def _environment(module: Module, source: bytes) -> _Environment:
    # Only files that can read it at all are looked through again.
    can_read = b"environ" in source or b"getenv" in source
    reads = {each.line: each for each in find_reads(source, "") if "environment" in each.what} if can_read else {}
    seen = _Environment(reads, frozenset())
    return _Environment(reads, frozenset(_labels(module, seen)))


def _labels(module: Module, environment: _Environment) -> Iterator[str]:
    for scope in module.scopes:
        for node in scope.nodes:
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    read = environment.read_in(value)
                    if read is not None and read.variable is not None and _VERSION.fullmatch(read.variable):
                        yield name
                case _:
                    pass


def _of_version(node: ast.AST, module: Module, scope: Scope, environment: _Environment) -> Iterator[Place]:
    match node:
        case ast.Call(func=ast.Attribute(value=value, attr=method)) if method in _PREFIX_METHODS:
            if _is_version(value, module, scope, environment):
                yield Rule.VERSION_BRANCH, node, f"{_shown(value)}.{method}() chooses"
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
            yield from _of_comparison(test, module, scope, environment)
        case ast.Match(subject=subject) if _is_version(subject, module, scope, environment):
            yield Rule.VERSION_BRANCH, subject, f"match {_shown(subject)} chooses"
        case _:
            pass


def _of_comparison(test: ast.expr, module: Module, scope: Scope, environment: _Environment) -> Iterator[Place]:
    for node in ast.walk(test):
        match node:
            case ast.Compare(left=left, comparators=[right]):
                for label, written in ((left, right), (right, left)):
                    if _is_written_version(written) and _is_version(label, module, scope, environment):
                        yield Rule.VERSION_BRANCH, node, f"{_shown(label)} is compared with a written version"
            case _:
                pass


def _is_version(node: ast.expr, module: Module, scope: Scope, environment: _Environment) -> bool:
    written, followed = chain_of(node), module.chain(node, scope)
    if not written:
        return False
    if _NOT_OF_A_MODEL.search(f"{module.dotted(node)} {'.'.join(followed)}"):
        return False
    read = environment.read_in(node)
    variable = "" if read is None or read.variable is None else read.variable
    named = (written[-1], followed[-1], variable)
    return written[0] in environment.labels or any(map(_VERSION.fullmatch, named))


def _is_written_version(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=str(text)):
            return bool(_WRITTEN_VERSION.fullmatch(text)) and text not in _OF_HTTP
        case ast.Tuple(elts=members) | ast.List(elts=members) | ast.Set(elts=members):
            return bool(members) and all(map(_is_written_version, members))
        case _:
            return False


def _shown(node: ast.expr) -> str:
    return ".".join(chain_of(node))


def _of_environment(node: ast.AST, scope: Scope, environment: _Environment, tested: set[str]) -> Iterator[Place]:
    match node:
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test) | ast.Match(subject=test):
            read = environment.read_in(test)
            if read is not None and (_shapes(read.variable) or _POST_PROCESSING.fullmatch(scope.name)):
                yield Rule.ENVIRONMENT_BRANCH, test, f"{_variable(read)} chooses"
        case (
            ast.Assign(targets=[ast.Name(id=name)], value=value)
            | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
        ):
            read = environment.read_in(value)
            if read is not None and (_is_setting(name) or (name in tested and _shapes(read.variable, name))):
                yield Rule.ENVIRONMENT_BRANCH, value, f"{_variable(read)} becomes {name}, which shapes answers"
        case ast.keyword(arg=str(name), value=value) if _is_setting(name):
            read = environment.read_in(value)
            if read is not None:
                yield Rule.ENVIRONMENT_BRANCH, value, f"{_variable(read)} becomes {name}, which shapes answers"
        case _:
            pass


def _tested_names(module: Module) -> Iterator[str]:
    for scope in module.scopes:
        for node in scope.nodes:
            match node:
                case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test) | ast.Match(subject=test):
                    yield from (each.id for each in ast.walk(test) if isinstance(each, ast.Name))
                case _:
                    pass


def _shapes(*names: str | None) -> bool:
    return any(name is not None and _SHAPING.fullmatch(name) for name in names)


def _is_setting(name: str) -> bool:
    return bool(_SHAPING.fullmatch(name)) and not _VERSION.fullmatch(name)


def _variable(read: Read) -> str:
    return "the environment" if read.variable is None else f"the environment variable {read.variable}"
