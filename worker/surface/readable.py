"""Paths that are looked up: `GET`, and `HEAD` with it (RFC 9110 section 9.1 asks for both of every server)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import APIRouter


def add_readable(router: APIRouter, path: str, handler: Callable[..., Any]) -> None:
    """Add a path; the server leaves out the body where only the head was asked for."""
    router.add_api_route(path, handler, methods=["GET"], response_model=None)
    router.add_api_route(path, handler, methods=["HEAD"], response_model=None, include_in_schema=False)
