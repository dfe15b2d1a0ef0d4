"""Finds where code takes its behaviour from outside: environment, configuration stores, files, network, command line.

Post-processing that is bound to a model must answer the same wherever it runs (provenance.md section 4). This reads
Python as text and runs nothing of it. Names are followed through imports and plain assignments; what a determined
author hides from that is not found, and code that builds code at run time is reported as such.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from inference_dna.canonical import Refused

_ENVIRONMENT = ("os.environ", "os.environb", "os.getenv", "os.getenvb", "posix.environ", "nt.environ")
_STORES = (
    "apollo", "azure.appconfiguration", "boto3", "botocore", "configparser", "consul", "decouple", "django.conf",
    "dotenv", "dynaconf", "environs", "etcd", "etcd3", "gin", "google.cloud.secretmanager", "hvac", "hydra", "kazoo",
    "kubernetes", "ldclient", "nacos", "omegaconf", "pydantic_settings", "pymongo", "psycopg", "psycopg2", "redis",
    "sqlalchemy", "sqlite3",
)  # fmt: skip
_NETWORK = (
    "aiohttp", "ftplib", "grpc", "http.client", "httpx", "requests", "socket", "urllib.request", "urllib3",
    "websockets", "xmlrpc",
)  # fmt: skip
_FILES = (
    "io.open", "os.open", "os.read", "codecs.open", "fileinput", "importlib.resources", "linecache", "mmap",
    "numpy.load", "numpy.loadtxt", "pkgutil.get_data", "torch.from_file", "torch.load",
)  # fmt: skip
_COMMAND_LINE = ("sys.argv", "argparse", "absl.flags", "click", "optparse")
_DYNAMIC = (
    "builtins", "code", "ctypes", "importlib.import_module", "importlib.reload", "marshal", "os.popen", "os.system",
    "pickle", "runpy", "subprocess", "sys.modules",
)  # fmt: skip
_READS_ENVIRONMENT = "reads the environment"
_READS_STORE = "reads a configuration store"
_READS_FILE = "reads a file"
_UNSEEN = "runs code that this check cannot see"
_RULES = (
    (_ENVIRONMENT, _READS_ENVIRONMENT),
    (_STORES, _READS_STORE),
    (_NETWORK, "reads from the network"),
    (_FILES, _READS_FILE),
    (_COMMAND_LINE, "reads the command line"),
    (_DYNAMIC, _UNSEEN),
)
_BUILTINS = {
    "open": _READS_FILE,
    "input": "reads the terminal",
    "eval": _UNSEEN,
    "exec": _UNSEEN,
    "compile": _UNSEEN,
    "__import__": _UNSEEN,
    "__builtins__": _UNSEEN,
}
_READING_METHODS = ("read_text", "read_bytes")
_GETTERS = ("get", "pop", "setdefault", "__getitem__")
MODULES = {path.partition(".")[0]: path.partition(".")[0] for paths, _ in _RULES for path in paths}
"""All the modules above under their own names, for code without imports."""


@dataclass(frozen=True, slots=True)
class Read:
    """One place: file and line, what it does, and the environment variable where its name is written there."""

    file: str
    line: int
    what: str
    variable: str | None = None

    def __str__(self) -> str:
        named = "" if self.variable is None else f" variable {self.variable}"
        return f"{self.file}:{self.line}: {self.what}{named}"


def find_reads(source: str | bytes, file: str, *, known: Mapping[str, str] | None = None) -> tuple[Read, ...]:
    """Find the places in one Python file, in the order of its lines.

    Args:
        source: The text.
        file: What to call it in the findings.
        known: What names stand for that the text does not import, as dotted paths; its own names hide them.

    Raises:
        Refused: The text is no Python.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError) as error:
        raise Refused(
            f"The code of {file!a} cannot be read as Python, so nothing can be said of it: {error}."
        ) from error
    names = _Names(tree, known or {})
    found = {
        Read(file, getattr(node, "lineno", 0), what, variable)
        for node in ast.walk(tree)
        for what, variable in _judge(node, names)
    }
    return tuple(sorted(_most_precise(found), key=lambda read: (read.line, read.what, read.variable or "")))


def read_of_path(path: str) -> str | None:
    """What a dotted path of a module reads, None where it stays inside."""
    return next((what for paths, what in _RULES if _matches(path, paths)), None)


def variables_of(reads: Iterable[Read]) -> tuple[str, ...]:
    """Name the environment variables that are read by name, sorted."""
    return tuple(sorted({read.variable for read in reads if read.variable is not None}))


class _Names:
    """What the names of one file stand for: modules that were imported, and what was assigned from them."""

    def __init__(self, tree: ast.AST, known: Mapping[str, str]) -> None:
        self._paths: dict[str, str] = {}
        self.bound: set[str] = set()
        for node in ast.walk(tree):
            self._bind(node)
        for name in known.keys() - self.bound:
            self._paths.setdefault(name, known[name])
        # Twice: an alias may be made of an alias that stands further down.
        for _ in range(2):
            for node in ast.walk(tree):
                self._follow(node)

    def path(self, node: ast.AST) -> str | None:
        """The dotted path a node stands for, None where it stands for nothing imported."""
        match node:
            case ast.Name(id=name):
                return self._paths.get(name)
            case ast.Attribute(value=value, attr=attribute):
                above = self.path(value)
                return None if above is None else f"{above}.{attribute}"
            case ast.Call(func=ast.Name(id="getattr"), args=[value, ast.Constant(value=str(attribute)), *_]):
                above = self.path(value)
                return None if above is None else f"{above}.{attribute}"
            case ast.Call(func=ast.Name(id="__import__"), args=[ast.Constant(value=str(module)), *_]):
                return module
            case _:
                return None

    def _bind(self, node: ast.AST) -> None:
        match node:
            case ast.Import(names=aliases):
                for alias in aliases:
                    root = alias.name.partition(".")[0]
                    self._paths[alias.asname or root] = alias.name if alias.asname else root
            case ast.ImportFrom(module=str(module), names=aliases, level=0):
                for alias in aliases:
                    self._paths[alias.asname or alias.name] = f"{module}.{alias.name}"
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                self.bound.add(name)
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()):
                self.bound.add(name)
            case _:
                pass

    def _follow(self, node: ast.AST) -> None:
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.NamedExpr(target=ast.Name(id=name), value=value)
            ):
                path = self.path(value)
                if path is not None:
                    self._paths[name] = path
            case _:
                pass


def _judge(node: ast.AST, names: _Names) -> Iterator[tuple[str, str | None]]:
    match node:
        case ast.Import(names=aliases):
            yield from ((what, None) for alias in aliases if (what := _of_import(alias.name)))
        case ast.ImportFrom(module=str(module), names=aliases):
            yield from _of_import_from(module, aliases)
        case ast.Subscript(value=value, slice=ast.Constant(value=str(name))) if _is_environment(names.path(value)):
            yield _READS_ENVIRONMENT, name
        case ast.Compare(left=ast.Constant(value=str(name)), comparators=[value]) if _is_environment(names.path(value)):
            yield _READS_ENVIRONMENT, name
        case ast.Call():
            yield from _of_call(node, names)
        case ast.Attribute() | ast.Name(ctx=ast.Load()):
            yield from _of_reference(node, names)
        case _:
            pass


def _of_import(module: str) -> str | None:
    """A store that is imported at all is told; the rest only where it is used."""
    return _READS_STORE if _matches(module, _STORES) else None


def _of_import_from(module: str, aliases: Iterable[ast.alias]) -> Iterator[tuple[str, str | None]]:
    for alias in aliases:
        if alias.name == "*" and module.partition(".")[0] in MODULES:
            yield "imports all names of a module, so that this check cannot see which are used", None
        elif what := _of_import(f"{module}.{alias.name}") or _of_import(module):
            yield what, None


def _of_call(node: ast.Call, names: _Names) -> Iterator[tuple[str, str | None]]:
    path = names.path(node.func)
    literal = node.args[0].value if node.args and isinstance(node.args[0], ast.Constant) else None
    if path is not None and _reads_variable(path) and isinstance(literal, str):
        yield _READS_ENVIRONMENT, literal
    match node.func:
        case ast.Attribute(attr=method) if method in _READING_METHODS:
            yield _READS_FILE, None
        case ast.Name(id="getattr") if len(node.args) > 1 and not isinstance(node.args[1], ast.Constant):
            if names.path(node.args[0]) is not None:
                yield _UNSEEN, None
        case _:
            pass
    # A path behind `getattr` or `__import__` is judged like one that is written out.
    yield from _of_reference(node, names)


def _of_reference(node: ast.AST, names: _Names) -> Iterator[tuple[str, str | None]]:
    path = names.path(node)
    if path is not None:
        if path.endswith(".__dict__"):
            yield _UNSEEN, None
        for paths, what in _RULES:
            if _matches(path, paths):
                yield what, None
    elif isinstance(node, ast.Name) and node.id in _BUILTINS and node.id not in names.bound:
        yield _BUILTINS[node.id], None


def _reads_variable(path: str) -> bool:
    function = path.rpartition(".")
    return path in ("os.getenv", "os.getenvb") or (_is_environment(function[0]) and function[2] in _GETTERS)


def _is_environment(path: str | None) -> bool:
    return path in _ENVIRONMENT


def _matches(path: str, paths: Iterable[str]) -> bool:
    return any(path == each or path.startswith(f"{each}.") for each in paths)


def _most_precise(found: set[Read]) -> Iterator[Read]:
    """Leave out a finding without a variable where the same line names one."""
    named: Mapping[tuple[str, int, str], bool] = {
        (read.file, read.line, read.what): True for read in found if read.variable is not None
    }
    return (read for read in found if read.variable is not None or (read.file, read.line, read.what) not in named)
