"""Rules about what outlives a request by accident: containers of the file, defaults, globals, cached answers."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise

from inference_dna.doctor.chains import ITEM, Chain, chain_of
from inference_dna.doctor.finding import Rule
from inference_dna.doctor.module import Module, Scope, bound_above, position
from inference_dna.doctor.writes import CHANGING_METHODS, writes

Place = tuple[Rule, ast.AST, str]
_CONTAINERS = frozenset({
    "Counter", "LRUCache", "LFUCache", "OrderedDict", "TTLCache", "UserDict", "UserList", "bytearray", "defaultdict",
    "deque", "dict", "list", "set",
})  # fmt: skip
_BOOKKEEPING = re.compile(
    r"_*(\w+_)?(registry|registered|handlers|hooks|plugins|metrics|stats|counters?|counts)", re.IGNORECASE
)
"""Containers that are filled on purpose and hold nothing of a request."""
_MODEL_NAME = re.compile(
    r"_*(\w+_)?(model|tokeni[sz]er|pipe|pipeline|llm|generator|engine|adapter|processor)(_\w+)?", re.IGNORECASE
)
_REMEMBERED = re.compile(
    r"_*(\w+_)?(histor|cache|conversation|session|memor|transcript|message|past_key|last_|previous_)\w*", re.IGNORECASE
)
_REMEMBERING = re.compile(rf"[A-Z][A-Z0-9_]*|(?i:{_REMEMBERED.pattern})")
_OF_ONE_SESSION = frozenset({"chainlit", "flask", "quart", "streamlit"})
"""Libraries whose imported names are another value for each request or user."""
_ROUTE = re.compile(r"\w+\.(\w+\.)*(route|api_route|get|post|put|patch|websocket|chat)")
_REMEMBERING_METHODS = frozenset({"append", "appendleft", "extend", "insert", "setdefault"})
"""Of what another file made only this is sure to fill a container: `add` and `update` have other meanings."""
_CACHING = re.compile(r"(\w+\.)*(lru_cache|alru_cache|cache|cached|memoize|memoized|cache_data|cachedmethod)")
_ANSWERING = re.compile(
    r"_*(\w+_)?(generate|generation|complete|completions?|chat|answer|reply|respond|predict|infer|inference)(_\w+)?"
)
_ANSWERING_CALLS = frozenset({"generate", "predict", "chat"})


def shared_memory(module: Module) -> Iterator[Place]:
    """Find what one request leaves for the next outside of any object: rule, place and what stands there."""
    of_the_file = _containers(module.top.nodes)
    for scope in module.scopes[1:]:
        yield from _filled_containers(module, scope, of_the_file)
        yield from _filled_defaults(module, scope)
        yield from _replaced_globals(module, scope)
        yield from _cached_answers(module, scope)


def _containers(nodes: list[ast.AST], within: ast.ClassDef | None = None) -> set[str]:
    """Names that are given something which can be filled."""
    body: list[ast.AST] = list(within.body) if within is not None else nodes
    in_classes = set() if within is not None else _of_classes(nodes)
    found: set[str] = set()
    for node in body:
        match node:
            case ast.Assign(targets=targets, value=value) if id(node) not in in_classes and _is_container(value):
                found |= {each.id for each in targets if isinstance(each, ast.Name)}
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value) if id(
                node
            ) not in in_classes and _is_container(value):
                found.add(name)
            case _:
                pass
    return {name for name in found if not _BOOKKEEPING.fullmatch(name)}


def _of_classes(nodes: list[ast.AST]) -> set[int]:
    return {id(inner) for node in nodes if isinstance(node, ast.ClassDef) for inner in ast.walk(node)}


def _is_container(value: ast.expr | None) -> bool:
    match value:
        case ast.List() | ast.Dict() | ast.Set() | ast.ListComp() | ast.DictComp() | ast.SetComp():
            return True
        case ast.Call():
            called = chain_of(value)
            return bool(called) and called[-1].removesuffix("()") in _CONTAINERS
        case _:
            return False


def _filled_containers(module: Module, scope: Scope, of_the_file: set[str]) -> Iterator[Place]:
    if scope.is_setup or "register" in scope.name:
        return
    hidden = set().union(*(each.own_names() for each in _functions_around(scope)))
    of_its_class, of_its_maker = _class_containers(scope), _maker_containers(scope, module)
    for node, chain, shown in _fillings(module, scope):
        # A module's `__getattr__` fills its own names when they are first asked for: a lazy import.
        if chain[0] in of_the_file - hidden or (chain[0] == "globals()" and scope.name != "__getattr__"):
            yield Rule.SHARED_CONTAINER, node, f"{shown} is filled; {chain[0]} belongs to the whole file"
        elif chain[0] in of_its_maker:
            yield Rule.SHARED_CONTAINER, node, f"{shown} is filled; {chain[0]} was made once, around the handler"
        elif chain[0] not in hidden and _is_of_another_file(node, chain, module):
            yield Rule.SHARED_CONTAINER, node, f"{shown} is filled; {chain[0]} belongs to another file"
        elif _is_of_the_function(chain, scope):
            yield Rule.SHARED_CONTAINER, node, f"{shown} is filled; it belongs to the function, of which there is one"
        elif _is_of_the_application(chain):
            yield Rule.SHARED_CONTAINER, node, f"{shown} is filled; it belongs to the whole application"
        elif len(chain) > 1 and chain[1] in of_its_class and _is_of_the_class(chain, scope):
            yield Rule.SHARED_CONTAINER, node, f"{shown} is filled; {chain[1]} belongs to the class, not to one object"


def _fillings(module: Module, scope: Scope) -> Iterator[tuple[ast.AST, Chain, str]]:
    for write in writes(module, scope):
        is_an_attribute_of_itself = not write.method and write.chain[0] == scope.name and len(write.chain) > 1
        if write.method in CHANGING_METHODS or (not write.method and ITEM in write.chain) or is_an_attribute_of_itself:
            yield write.node, write.chain, write.shown
    for node in scope.nodes:
        match node:
            # In place: of a plain name it is the same list as before.
            case ast.AugAssign(target=ast.Name(id=name)):
                yield node, (name,), name
            case _:
                pass


def _is_of_another_file(node: ast.AST, chain: Chain, module: Module) -> bool:
    named = [part for part in chain if part != ITEM]
    path = module.imports.get(chain[0], "")
    if not path or path.partition(".")[0] in _OF_ONE_SESSION or len(named) > len(("module", "name")):
        return False
    method = node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""
    return bool(_REMEMBERING.fullmatch(named[-1])) and (not method or method in _REMEMBERING_METHODS)


def _maker_containers(scope: Scope, module: Module) -> set[str]:
    """Containers of the function that made a handler: `create_app` runs once, what it registers with each request."""
    maker = scope.parent
    if maker is None or maker is module.top or not isinstance(scope.node, ast.FunctionDef | ast.AsyncFunctionDef):
        return set()
    named = [module.dotted(each.func if isinstance(each, ast.Call) else each) for each in scope.node.decorator_list]
    return _containers(maker.nodes) - scope.own_names() if any(map(_ROUTE.fullmatch, named)) else set()


def _is_of_the_function(chain: Chain, scope: Scope) -> bool:
    return chain[0] == scope.name and len(chain) > 1 and bool(_REMEMBERED.fullmatch(chain[1]))


def _is_of_the_application(chain: Chain) -> bool:
    return any(pair == ("app", "state") for pair in pairwise(chain[:-1]))


def _functions_around(scope: Scope | None) -> Iterator[Scope]:
    while scope is not None and scope.parent is not None:
        yield scope
        scope = scope.parent


def _class_containers(scope: Scope) -> set[str]:
    """Containers in the body of the class that no constructor replaces with the object's own."""
    if scope.owner is None or any("dataclass" in ast.dump(each) for each in scope.owner.decorator_list):
        return set()
    own = {
        node.attr for node in ast.walk(scope.owner)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name) and node.value.id == "self"
    }  # fmt: skip
    return _containers([], scope.owner) - own


def _is_of_the_class(chain: Chain, scope: Scope) -> bool:
    return scope.owner is not None and chain[0] in ("self", "cls", scope.owner.name)


def _filled_defaults(module: Module, scope: Scope) -> Iterator[Place]:
    if isinstance(scope.node, ast.Module):
        return
    given = scope.node.args
    placed = [*given.posonlyargs, *given.args]
    pairs = [*zip(placed[len(placed) - len(given.defaults) :], given.defaults, strict=True)]
    pairs += [(name, value) for name, value in zip(given.kwonlyargs, given.kw_defaults, strict=True) if value]
    defaults = {name.arg for name, value in pairs if _is_container(value)}
    for node, chain, shown in _fillings(module, scope):
        is_replaced = any(each.target == chain[:1] for each in bound_above(chain, scope, position(node)))
        if chain[0] in defaults and not is_replaced:
            yield Rule.MUTABLE_DEFAULT, node, f"{shown} is filled; it is the default of the parameter {chain[0]}"


def _replaced_globals(module: Module, scope: Scope) -> Iterator[Place]:
    if scope.name in ("lifespan", "startup", "main") or _runs_at_start(scope):
        return
    for node in scope.nodes:
        for name in scope.declared_global.intersection(_assigned_names(node)):
            if _MODEL_NAME.fullmatch(name) or _is_known(name, module):
                if id(node) not in scope.locked:
                    yield Rule.GLOBAL_MODEL, node, f"{name} of the whole file is replaced, without a lock"
            elif _REMEMBERED.fullmatch(name):
                yield Rule.SHARED_CONTAINER, node, f"{name} of the whole file is replaced"


def _assigned_names(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Assign(targets=targets):
            yield from (each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()) | ast.AugAssign(target=ast.Name(id=name)):
            yield name
        case _:
            pass


def _is_known(name: str, module: Module) -> bool:
    return any(name in names for names in module.kinds.values())


def _runs_at_start(scope: Scope) -> bool:
    if isinstance(scope.node, ast.Module | ast.Lambda):
        return False
    return any("startup" in ast.dump(each) or "before_serving" in ast.dump(each) for each in scope.node.decorator_list)


def _cached_answers(module: Module, scope: Scope) -> Iterator[Place]:
    if isinstance(scope.node, ast.Module | ast.Lambda):
        return
    named = [module.dotted(each.func if isinstance(each, ast.Call) else each) for each in scope.node.decorator_list]
    caches = [name for name in named if _CACHING.fullmatch(name)]
    if caches and (_ANSWERING.fullmatch(scope.name) or _answers(scope)):
        yield Rule.CACHED_ANSWER, scope.node, f"answers of {scope.name} are kept by {caches[0]}"


def _answers(scope: Scope) -> bool:
    return any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _ANSWERING_CALLS
        for node in scope.nodes
    )
