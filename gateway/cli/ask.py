"""Ask the admin port of a running gateway."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx

from gateway.cli.output import Stop
from gateway.settings import SettingsRefused, load

TIMEOUT_S = 10.0
_EVERYWHERE = {"0.0.0.0", "::"}  # noqa: S104 - compared with, not listened on


def admin_url(given: str | None) -> str:
    """Say where the admin port is: as given, a URL or HOST:PORT, else as the settings of this environment say."""
    if given is not None:
        return (given if "://" in given else f"http://{given}").rstrip("/")
    try:
        settings = load()
    except SettingsRefused as error:
        raise Stop(f"{error}; or say where the admin port is: --admin URL") from error
    host = settings.admin_host or settings.host
    host = "127.0.0.1" if host in _EVERYWHERE else host
    return f"http://[{host}]:{settings.admin_port}" if ":" in host else f"http://{host}:{settings.admin_port}"


def ask(
    admin: str | None,
    path: str,
    *,
    query: Mapping[str, str | None] | None = None,
    body: Mapping[str, Any] | None = None,
    accept: tuple[int, ...] = (200,),
    member: str | None = None,
) -> Any:
    """Send one request and give the JSON of the answer; with a `body` it is a POST.

    Raises:
        Stop: Nothing answers there, the answer has another status than `accept` names, or lacks `member`.
    """
    url = admin_url(admin) + path
    parameters = {name: value for name, value in (query or {}).items() if value is not None}
    try:
        with httpx.Client(timeout=TIMEOUT_S, trust_env=False) as client:
            method = "GET" if body is None else "POST"
            answer = client.request(method, url, params=parameters or None, json=body)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise Stop(f"no answer from {url}: {error}; say where the gateway's admin port is: --admin URL") from error
    if answer.status_code not in accept:
        raise Stop(f"{url} answered {answer.status_code}: {_detail(answer)}")
    value = _json(answer, url)
    if member is not None and not (isinstance(value, dict) and member in value):
        raise Stop(f"{url} did not answer as a gateway's admin port does; say where it is: --admin URL")
    return value


def _detail(answer: httpx.Response) -> str:
    try:
        return str(answer.json()["detail"])
    except (ValueError, KeyError, TypeError):
        return answer.reason_phrase


def _json(answer: httpx.Response, url: str) -> Any:
    try:
        return answer.json()
    except ValueError as error:
        raise Stop(f"{url} did not answer with JSON: is that the admin port?") from error
