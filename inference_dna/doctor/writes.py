"""Everything in a scope that changes a value in place: assignments to attributes and items, setattr, methods."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from inference_dna.doctor.chains import ITEM, Chain, chain_of
from inference_dna.doctor.module import Module, Scope

CHANGING_METHODS = frozenset({
    "add", "append", "appendleft", "clear", "discard", "extend", "extendleft", "insert", "pop", "popitem", "popleft",
    "remove", "reverse", "setdefault", "sort", "update", "__setitem__", "__delitem__",
})  # fmt: skip
_SETTERS = ("setattr", "delattr")
_SETTER_METHODS = ("__setattr__", "__delattr__")
_ANY_NAME = "*"


@dataclass(frozen=True, slots=True)
class Write:
    """One change. `chain` leads to what is changed, `raw` is the same as it is written; `method` where one does it."""

    node: ast.AST
    chain: Chain
    raw: Chain
    method: str = ""

    @property
    def shown(self) -> str:
        """As it stands in the source, shortened."""
        text = ".".join(self.raw).replace(f".{ITEM}", ITEM)
        return f"{text}.{self.method}()" if self.method else text


def writes(module: Module, scope: Scope) -> Iterator[Write]:
    """Find the writes of a scope, in its order."""
    for node in scope.nodes:
        match node:
            case ast.Assign(targets=targets) | ast.Delete(targets=targets):
                for target in targets:
                    yield from _to_targets(target, module, scope)
            case ast.AnnAssign(target=target, value=ast.expr()) | ast.AugAssign(target=target):
                yield from _to_targets(target, module, scope)
            case ast.For(target=target) | ast.AsyncFor(target=target):
                yield from _to_targets(target, module, scope)
            case ast.Call():
                yield from _by_call(node, module, scope)
            case _:
                pass


def _to_targets(target: ast.expr, module: Module, scope: Scope) -> Iterator[Write]:
    match target:
        case ast.Tuple(elts=targets) | ast.List(elts=targets):
            for each in targets:
                yield from _to_targets(each, module, scope)
        case ast.Starred(value=value):
            yield from _to_targets(value, module, scope)
        case ast.Attribute() | ast.Subscript():
            chain = module.chain(target, scope)
            if chain:
                yield Write(target, chain, chain_of(target))
        case _:
            pass


def _by_call(node: ast.Call, module: Module, scope: Scope) -> Iterator[Write]:
    match node:
        case ast.Call(func=ast.Name(id=setter), args=[owner, name, *_]) if setter in _SETTERS:
            yield from _of_named(node, owner, name, module, scope)
        case ast.Call(func=ast.Attribute(value=ast.Name(id="object"), attr=setter), args=[owner, name, *_]) if (
            setter in _SETTER_METHODS
        ):
            yield from _of_named(node, owner, name, module, scope)
        case ast.Call(func=ast.Attribute(value=owner, attr=setter), args=[name, *_]) if setter in _SETTER_METHODS:
            yield from _of_named(node, owner, name, module, scope)
        case ast.Call(func=ast.Attribute(value=owner, attr=method)):
            chain = module.chain(owner, scope)
            if chain:
                yield Write(node, chain, chain_of(owner), method)
        case _:
            pass


def _of_named(node: ast.Call, owner: ast.expr, name: ast.expr, module: Module, scope: Scope) -> Iterator[Write]:
    chain = module.chain(owner, scope)
    attribute = name.value if isinstance(name, ast.Constant) and isinstance(name.value, str) else _ANY_NAME
    if chain:
        yield Write(node, (*chain, attribute), (*chain_of(owner), attribute))
