"""What a request target says: version, model, API family, and the path that goes on to the worker (clients.md 1)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import unquote_to_bytes

from contracts.version import Version, VersionError
from gateway.proxy.names import check_names
from gateway.proxy.problem import Family, Refused, refuse

_DOT_SEGMENT = re.compile(rb"(?:^|/)\.{1,2}(?:/|$)")
_BAD_ESCAPE = re.compile(rb"%(?![0-9A-Fa-f]{2})")
_ABSOLUTE = re.compile(rb"https?://([^/?#]+)(.*)", re.IGNORECASE)
_VERSION_LIKE = re.compile(r"v?\d+\.\d+\.\d")
_MODEL_ACTIONS = (b":predict", b":explain")


@dataclass(frozen=True, slots=True)
class Target:
    """A target read once.

    Attributes:
        forward: The raw target for the worker: our `/<vX.Y.Z>` and `/versions/<v>` removed, all else byte for byte.
        path: The raw path of `forward`, without query.
        family: Decides the form of errors and which listings we answer.
        selectors: Selectors the path carries, as sent (the leading version, `/versions/<v>`).
        model_id: The model the path names, decoded; None where it names none.
        is_healthz: The workers' health page, under any spelling: not for clients (dna.md section 6).
        rest: For Open Inference paths, what follows the model and version: `infer`, `ready`, `` and the like.
    """

    forward: bytes
    path: bytes
    family: Family
    selectors: tuple[str, ...] = ()
    model_id: str | None = None
    rest: str | None = None
    is_healthz: bool = False


@lru_cache(maxsize=4096)
def parse_target(raw: bytes, host: bytes | None) -> Target:
    """Read a request target.

    Args:
        raw: The target as it stood in the request line.
        host: The value of `Host`; an absolute target must name the same authority.

    Raises:
        Refused: The target is not one that can be sent on safely (http.md section 3.3).
    """
    target = _origin_form(raw, host)
    if b"#" in target or b"%00" in target:
        raise _bad_target()
    path, mark, query = target.partition(b"?")
    _check_path(path)
    selectors: tuple[str, ...] = ()
    version, rest = _leading_version(path)
    if version is not None:
        selectors, path = (version,), rest
    family, model_id, selector, path, action = _read_family(path)
    if selector is not None:
        selectors += (selector,)
    check_names(model_id, *selectors)
    is_healthz = unquote_to_bytes(path).strip(b"/") == b"healthz"
    return Target(path + mark + query, path, family, selectors, model_id, action, is_healthz)


def _origin_form(raw: bytes, host: bytes | None) -> bytes:
    if raw.startswith(b"/"):
        return raw
    if raw == b"*":
        raise refuse(404, "path_not_found", "`*` is no path; name one that begins with `/`.", close=False)
    absolute = _ABSOLUTE.fullmatch(raw)
    if absolute is None:
        raise refuse(400, "bad_request", "The target must be a path that begins with `/`.", close=False)
    authority, rest = absolute.groups()
    if host is None or authority.lower() != host.lower():
        raise refuse(400, "bad_request", "An absolute target must name the host of the Host line.", close=False)
    return rest if rest.startswith(b"/") else b"/" + rest


def _check_path(path: bytes) -> None:
    if b"%" in path and _BAD_ESCAPE.search(path):
        raise _bad_target()
    if b"." in path or b"%2e" in path.lower():
        decoded = unquote_to_bytes(path).replace(b"\\", b"/")
        if _DOT_SEGMENT.search(path) or _DOT_SEGMENT.search(decoded):
            raise _bad_target()


def _bad_target() -> Refused:
    return refuse(
        400, "bad_request", "The target holds a fragment, a NUL, a broken escape or a dot segment.", close=False
    )


def _leading_version(path: bytes) -> tuple[str | None, bytes]:
    """Split `/v2.4.0/rest` into version and `/rest`. Only a full version counts: `/v1/...` is the name of an API."""
    first, slash, rest = path[1:].partition(b"/")
    text = _decoded(first)
    if text.count(".") < 2:
        return None, path
    if _VERSION_LIKE.match(text):
        check_names(text)
    try:
        Version.parse(text)
    except VersionError:
        return None, path
    return text, (slash + rest) or b"/"


def _read_family(path: bytes) -> tuple[Family, str | None, str | None, bytes, str | None]:
    """Give family, model, selector, path to send on, and what follows the model in Open Inference paths."""
    parts = path.split(b"/")
    if parts[1] == b"v1":
        model = _kserve_model(parts)
        return (Family.PLAIN if model else Family.OPENAI), model, None, path, None
    if parts[1] != b"v2":
        return Family.PLAIN, None, None, path, None
    if len(parts) < 4 or parts[2] != b"models" or not parts[3]:
        return Family.OPEN_INFERENCE, None, None, path, None
    model, selector, tail = _decoded(parts[3]), None, parts[4:]
    if len(tail) >= 2 and tail[0] == b"versions":
        selector, tail = _decoded(tail[1]), tail[2:]
    forward = b"/".join([*parts[:4], *tail])
    return Family.OPEN_INFERENCE, model, selector, forward, b"/".join(tail).decode("latin-1")


def _kserve_model(parts: list[bytes]) -> str | None:
    """Read `/v1/models/<m>:predict`; that ending comes before OpenAI's `/v1/models/<id>`."""
    if len(parts) != 4 or parts[2] != b"models":
        return None
    name = next((parts[3][: -len(end)] for end in _MODEL_ACTIONS if parts[3].endswith(end)), None)
    return _decoded(name) if name else None


def _decoded(part: bytes) -> str:
    return unquote_to_bytes(part).decode("utf-8", "replace")
