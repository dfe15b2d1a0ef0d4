"""Push alerts to an Alertmanager, or anything that reads its API v2: at once, again while they last, and when they end.

What lasts is kept as a set, not as a queue of messages: however long the receiver is away, it learns the present state,
and memory is bounded. Nothing here is waited for by anything else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from urllib.parse import urlsplit, urlunsplit

import httpx
import msgspec

from gateway.control.alert import Alert, AlertSettings, Labels, ended_by, raised_by, to_json
from gateway.telemetry.changes import Change

API_PATH = "/api/v2/alerts"


class Alerts:
    """Keeps what lasts and posts it.

    Args:
        url: Where to post; without a path, Alertmanager's own is appended.
        gateway: Name of this gateway, a label of every alert.
        generator_url: Where people look further: this gateway's status page.
        wall: Epoch clock.
        draw: Uniform in [0, 1).
        on_drop: Is called for each alert that found no room.
        report: Is told when delivery begins to fail, with the reason, and when it works again, with "".
        settings: Numbers.
    """

    def __init__(
        self,
        url: str,
        *,
        gateway: str,
        generator_url: str,
        wall: Callable[[], float],
        draw: Callable[[], float],
        on_drop: Callable[[], None],
        report: Callable[[str], None],
        settings: AlertSettings | None = None,
    ) -> None:
        self._url = alert_url(url)
        self._gateway = gateway
        self._generator_url = generator_url
        self._wall = wall
        self._draw = draw
        self._on_drop = on_drop
        self._report = report
        self._settings = settings or AlertSettings()
        self._lasting: dict[Labels, Alert] = {}
        self._ended: dict[Labels, Alert] = {}
        self._news = asyncio.Event()
        self._is_failing = False

    def change(self, change: Change) -> None:
        """Take in one change; a `Listener`."""
        alert = raised_by(change, gateway=self._gateway, at=self._wall())
        if alert is not None:
            self._raise(alert)
        labels = ended_by(change, gateway=self._gateway)
        if labels is not None and labels in self._lasting:
            self._ended[labels] = self._lasting.pop(labels).ended(self._wall())
            self._news.set()

    def _raise(self, alert: Alert) -> None:
        known = self._lasting.get(alert.labels)
        if known is None and len(self._lasting) + len(self._ended) >= self._settings.capacity:
            self._on_drop()
            return
        self._ended.pop(alert.labels, None)
        self._lasting[alert.labels] = alert if known is None else _still(known, alert)
        self._news.set()

    async def run(self) -> None:
        """Post until cancelled."""
        failures = 0
        async with httpx.AsyncClient(timeout=self._settings.timeout_s, trust_env=False) as client:
            while True:
                await self._wait(failures)
                alerts = [*self._lasting.values(), *self._ended.values()]
                if not alerts:
                    continue
                failures = 0 if await self._post(client, alerts) else failures + 1

    async def _wait(self, failures: int) -> None:
        """Wait for news or for the next repetition; after a failure, for its pause."""
        if failures:
            pause_s = min(self._settings.backoff_s * 2 ** min(failures - 1, 10), self._settings.backoff_cap_s)
            await asyncio.sleep(pause_s * (0.5 + 0.5 * self._draw()))
        else:
            try:
                async with asyncio.timeout(self._settings.repeat_s):
                    await self._news.wait()
            except TimeoutError:
                pass  # nothing new: what lasts is told again
        self._news.clear()

    async def _post(self, client: httpx.AsyncClient, alerts: list[Alert]) -> bool:
        body = msgspec.json.encode([to_json(alert, generator_url=self._generator_url) for alert in alerts])
        try:
            response = await client.post(self._url, content=body, headers={"content-type": "application/json"})
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            return self._note(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)
        if not response.is_success:
            return self._note(f"the receiver answered with status {response.status_code}")
        for alert in alerts:
            if self._ended.get(alert.labels) is alert:
                del self._ended[alert.labels]
        return self._note("")

    def _note(self, failure: str) -> bool:
        """Report the first failure and the first success after one; say whether this is a success."""
        if bool(failure) is not self._is_failing:
            self._is_failing = bool(failure)
            self._report(failure)
        return not failure


def _still(known: Alert, again: Alert) -> Alert:
    """The alert that lasts already, with what is said of it now."""
    return Alert(known.labels, again.summary, again.description, known.starts_at)


def alert_url(url: str) -> str:
    """Append Alertmanager's path to a URL that has none."""
    parts = urlsplit(url)
    return url if parts.path not in ("", "/") else urlunsplit(parts._replace(path=API_PATH))
