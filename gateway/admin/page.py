"""The documentation page: plain HTML made from the OpenAPI document, because a node may not reach anybody's CDN."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:52rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a;"
    "background:#fff}code{background:#eee;padding:.1em .3em;border-radius:3px}section{border-top:1px solid #ccc;"
    "padding:.5rem 0}h2{font-size:1.1rem}@media(prefers-color-scheme:dark){body{color:#ddd;background:#161616}"
    "code{background:#333}section{border-color:#444}}"
)


def docs_page(openapi: Mapping[str, Any]) -> str:
    """Write the page."""
    title = escape(f"{openapi['info']['title']} {openapi['info']['version']}")
    operations = "".join(
        _operation(method, path, operation)
        for path, methods in openapi["paths"].items()
        for method, operation in methods.items()
    )
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width,initial-scale=1"><style>{_STYLE}</style></head>'
        f'<body><h1>{title}</h1><p>The full description is <a href="openapi.json">openapi.json</a>.</p>'
        f"{operations}</body></html>"
    )


def _operation(method: str, path: str, operation: Mapping[str, Any]) -> str:
    parameters = "".join(_parameter(parameter) for parameter in operation.get("parameters", ()))
    listed = f"<ul>{parameters}</ul>" if parameters else ""
    shown = f"{method.upper()} {path}"
    heading = f'<a href="{escape(path.lstrip("/"))}"><code>{escape(shown)}</code></a>' if method == "get" else ""
    heading = heading or f"<code>{escape(shown)}</code>"
    answers = ", ".join(escape(status) for status in operation.get("responses", ()))
    text = escape(operation.get("description") or operation.get("summary") or "")
    return f"<section><h2>{heading}</h2><p>{text}</p>{listed}<p>Answers: {answers}</p></section>"


def _parameter(parameter: Mapping[str, Any]) -> str:
    need = "" if parameter.get("required") else " (optional)"
    return f"<li><code>{escape(parameter['name'])}</code>{need}: {escape(parameter.get('description', ''))}</li>"
