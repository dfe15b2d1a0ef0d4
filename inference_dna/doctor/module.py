"""One Python file as the rules look at it: its scopes, and what the names in them stand for.

Names are followed through plain assignments, the latest one above the place that asks.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from inference_dna.doctor.chains import ITEM, Chain, chain_of

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_STEPS = 4
"""Names behind names that are followed."""

_MAKERS = re.compile(
    r"(from_pretrained|from_config|from_model_config|from_dict|from_file|deepcopy|copy|replace|pipeline"
    r"|defaultdict|deque|dict|list|set"
    r"|_*(load|build|create)_\w+|[A-Z]\w*)\(\)"
)
"""Calls that give a new value: what is done to it where it was made, nobody else sees."""
_SETUP = re.compile(
    r"_*(load|set_?up|startup|on_startup|lifespan|init|initiali[sz]e|warm_?up|main|train|fit|evaluate|benchmark)(_\w+)?"
)
_OF_A_REQUEST = re.compile(
    r"(request|req|body|payload|params|settings|messages?|prompts?|text|query|question|history|user\w*|session\w*)"
)

Position = tuple[int, int]
"""Line and column."""


@dataclass(frozen=True, slots=True)
class Binding:
    """A name or an attribute was given a value, which holds from a position on; empty where it is no chain."""

    since: Position
    target: Chain
    value: Chain


@dataclass(slots=True)
class Scope:
    """A function or the file itself, with the nodes that stand in it but in no function inside.

    Attributes:
        node: Where it begins.
        parent: The scope around it; None for the file itself.
        owner: The class it is a method of.
        nodes: In the order of the file.
        locked: Identities of those that stand where a lock is held.
        bindings: Assignments to names and attributes in it.
        declared_global: Names it says are the file's.
    """

    node: ast.Module | FunctionNode
    parent: Scope | None = None
    owner: ast.ClassDef | None = None
    nodes: list[ast.AST] = field(default_factory=list)
    locked: set[int] = field(default_factory=set)
    bindings: list[Binding] = field(default_factory=list)
    declared_global: set[str] = field(default_factory=set)

    @property
    def name(self) -> str:
        """What the function is called; empty for a lambda and for the file."""
        return getattr(self.node, "name", "")

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of all parameters."""
        if isinstance(self.node, ast.Module):
            return ()
        given = self.node.args
        named = (*given.posonlyargs, *given.args, *given.kwonlyargs)
        return tuple(each.arg for each in (*named, given.vararg, given.kwarg) if each is not None)

    @property
    def is_setup(self) -> bool:
        """Say whether it runs before requests do: by its name, where no parameter is a request's."""
        if isinstance(self.node, ast.Module):
            return True
        return bool(_SETUP.fullmatch(self.name)) and not any(map(_OF_A_REQUEST.fullmatch, self.parameters))

    def own_names(self) -> set[str]:
        """Names that are its own: parameters and what is assigned, but for what it declares global."""
        assigned = {binding.target[0] for binding in self.bindings if len(binding.target) == 1}
        return {*self.parameters, *assigned} - self.declared_global


class Module:
    """One parsed file.

    Args:
        tree: The file.
    """

    def __init__(self, tree: ast.Module) -> None:
        self.imports: dict[str, str] = {}
        self.scopes: list[Scope] = []
        self.kinds: dict[str, set[str]] = defaultdict(set)
        self._walk(Scope(tree))
        for scope in self.scopes:
            self._note_kinds(scope)

    @property
    def top(self) -> Scope:
        """The file's own scope."""
        return self.scopes[0]

    def dotted(self, node: ast.AST) -> str:
        """The dotted path of an expression, through imports; empty where it is none."""
        return self._path(chain_of(node))

    def followed(self, node: ast.AST, scope: Scope) -> str:
        """As `dotted`, with the first name followed to what it stands for."""
        return self._path(self.chain(node, scope))

    def chain(self, node: ast.AST, scope: Scope) -> Chain:
        """The chain of an expression with its first name followed to what it stands for."""
        parts = chain_of(node)
        return self._followed(parts, scope, position(node), _STEPS) if parts else ()

    def is_fresh(self, chain: Chain, scope: Scope, at: Position) -> bool:
        """Say whether what a chain leads through was made in this very scope."""
        above = bound_above(chain, scope, at)
        return any(map(is_maker, chain)) or any(is_maker(part) for binding in above for part in binding.value)

    def _path(self, chain: Chain) -> str:
        return ".".join((self.imports.get(chain[0], chain[0]), *chain[1:])) if chain else ""

    def _followed(self, parts: Chain, scope: Scope, at: Position, steps: int) -> Chain:
        bound = self._bound(parts[0], scope, at)
        if bound is None or not bound or steps == 0 or bound[0] == parts[0]:
            return parts
        return (*self._followed(bound, scope, at, steps - 1), *parts[1:])

    def _bound(self, name: str, scope: Scope, at: Position) -> Chain | None:
        above = [each for each in scope.bindings if each.target == (name,) and each.since <= at]
        if above:
            return above[-1].value
        if name in scope.parameters or scope.parent is None:
            return None
        for outer in _outward(scope.parent):
            inherited = [each.value for each in outer.bindings if each.target == (name,)]
            if inherited:
                # What was made outside is shared by the time this runs.
                return None if any(map(is_maker, inherited[-1])) else inherited[-1]
        return None

    def _note_kinds(self, scope: Scope) -> None:
        """Remember what names were given a model, a tokenizer or settings, whatever they are called."""
        for binding in scope.bindings:
            made = ".".join(binding.value)
            if made.endswith(("from_pretrained()", "pipeline()", "get_peft_model()")):
                self.kinds["tokenizer" if "okenizer" in made else "model"].add(binding.target[-1])
            elif made.endswith(("GenerationConfig()", "SamplingParams()", "generation_config")):
                self.kinds["settings"].add(binding.target[-1])

    def _walk(self, scope: Scope, owner: ast.ClassDef | None = None) -> None:
        self.scopes.append(scope)
        inner: list[Scope] = []
        pending: list[tuple[ast.AST, ast.ClassDef | None, bool]]
        pending = [(node, owner, False) for node in reversed(list(_inside(scope.node)))]
        while pending:
            node, owner, is_locked = pending.pop()
            scope.nodes.append(node)
            self._note(node, scope)
            if is_locked:
                scope.locked.add(id(node))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                inner.append(Scope(node, scope, owner))
            below = node if isinstance(node, ast.ClassDef) else owner, is_locked or _takes_lock(node)
            pending += [(child, *below) for child in reversed(list(_below(node)))]
        for function in inner:
            self._walk(function)

    def _note(self, node: ast.AST, scope: Scope) -> None:
        match node:
            case ast.Import(names=aliases):
                roots = ((alias, alias.name.partition(".")[0]) for alias in aliases)
                self.imports |= {alias.asname or root: alias.name if alias.asname else root for alias, root in roots}
            case ast.ImportFrom(module=module, names=aliases):
                self.imports |= {alias.asname or alias.name: f"{module or ''}.{alias.name}" for alias in aliases}
            case ast.Global(names=names):
                scope.declared_global.update(names)
            case _:
                scope.bindings.extend(_bindings_of(node))


def _bindings_of(node: ast.AST) -> Iterator[Binding]:
    match node:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                yield from _bindings(target, value)
        case ast.AnnAssign(target=target, value=ast.expr() as value) | ast.NamedExpr(target=target, value=value):
            yield from _bindings(target, value)
        case ast.For(target=target) | ast.AsyncFor(target=target) | ast.comprehension(target=target):
            yield from _bindings(target, target)
        case ast.withitem(optional_vars=ast.expr() as target):
            yield from _bindings(target, target)
        case _:
            pass


def _bindings(target: ast.expr, value: ast.expr) -> Iterator[Binding]:
    match target, value:
        case ((ast.Tuple(elts=targets) | ast.List(elts=targets)), (ast.Tuple(elts=values) | ast.List(elts=values))):
            if len(targets) == len(values):
                for one, its in zip(targets, values, strict=True):
                    yield from _bindings(one, its)
        case ((ast.Tuple(elts=targets) | ast.List(elts=targets)), _):
            made = chain_of(value)
            for one in targets:
                name = chain_of(one)
                yield from [Binding(_end(value), name, (*made, name[-1]))] if name else []
        case _:
            name = chain_of(target)
            if name and ITEM not in name:
                yield Binding(_end(value), name, chain_of(value) if value is not target else ())


def position(node: ast.AST) -> Position:
    """Where a node begins."""
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)


def bound_above(chain: Chain, scope: Scope, at: Position) -> tuple[Binding, ...]:
    """What was assigned in a scope, above a position, on the way of a chain; its own end does not count."""
    return tuple(
        each for each in scope.bindings
        if each.since <= at and len(each.target) < len(chain) and each.target == chain[: len(each.target)]
    )  # fmt: skip


def is_maker(part: str) -> bool:
    """Say whether a part of a chain is a call that gives a new value."""
    return bool(_MAKERS.fullmatch(part))


def _end(node: ast.expr) -> Position:
    return node.end_lineno or node.lineno, node.end_col_offset or node.col_offset


def _outward(scope: Scope | None) -> Iterator[Scope]:
    while scope is not None:
        yield scope
        scope = scope.parent


def _inside(node: ast.Module | FunctionNode) -> Iterator[ast.AST]:
    """What runs in a scope: for a function its body alone."""
    if isinstance(node, ast.Lambda):
        yield node.body
    else:
        yield from node.body


def _below(node: ast.AST) -> Iterator[ast.AST]:
    """What stands in a node and runs in the same scope: of a function its decorators and defaults."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        yield from ast.iter_child_nodes(node)
        return
    if not isinstance(node, ast.Lambda):
        yield from node.decorator_list
    yield from node.args.defaults
    yield from (each for each in node.args.kw_defaults if each is not None)


def _takes_lock(node: ast.AST) -> bool:
    if not isinstance(node, ast.With | ast.AsyncWith):
        return False
    return any("lock" in part.lower() for item in node.items for part in chain_of(item.context_expr))
