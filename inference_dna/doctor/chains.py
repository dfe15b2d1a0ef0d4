"""Dotted expressions taken apart: `get(x).model.config["a"]` is `get()`, `model`, `config`, `[]`."""

from __future__ import annotations

import ast

Chain = tuple[str, ...]
ITEM = "[]"


def chain_of(node: ast.AST) -> Chain:
    """Take a dotted expression apart; empty where it is none."""
    match node:
        case ast.Name(id=name):
            return (name,)
        case ast.Attribute(value=value, attr=attribute):
            return _longer(chain_of(value), attribute)
        case ast.Subscript(
            value=ast.Attribute(value=value, attr="__dict__") | ast.Call(func=ast.Name(id="vars"), args=[value]),
            slice=ast.Constant(value=str(attribute)),
        ):
            return _longer(chain_of(value), attribute)
        case ast.Subscript(value=value):
            return _longer(chain_of(value), ITEM)
        case ast.Await(value=value) | ast.NamedExpr(value=value):
            return chain_of(value)
        case ast.Call(func=ast.Name(id="getattr"), args=[value, ast.Constant(value=str(attribute)), *_]):
            return _longer(chain_of(value), attribute)
        case ast.Call(func=ast.Name(id="vars"), args=[value]):
            return _longer(chain_of(value), "__dict__")
        case ast.Call(func=function):
            called = chain_of(function)
            return (*called[:-1], f"{called[-1]}()") if called else ()
        case _:
            return ()


def _longer(chain: Chain, part: str) -> Chain:
    return (*chain, part) if chain else ()
