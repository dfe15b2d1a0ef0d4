"""Alerts against a receiver on a real socket: raised, repeated, ended, and never lost while it is away."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from gateway.control.alert import AlertSettings
from gateway.control.alerts import Alerts, alert_url
from gateway.telemetry.changes import Change
from gateway.telemetry.changes import ChangeKind as Kind

QUICK = AlertSettings(repeat_s=0.15, timeout_s=1.0, backoff_s=0.02, backoff_cap_s=0.05, capacity=3)


class Receiver:
    """Takes posts and answers with `status`."""

    def __init__(self) -> None:
        self.posts: list[list[dict[str, Any]]] = []
        self.paths: list[str] = []
        self.status = 200
        self._came = asyncio.Event()

    async def __aenter__(self) -> Receiver:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        lines = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head.split("\r\n"))}
        body = await reader.readexactly(int(lines["content-length"]))
        self.paths.append(head.split(" ")[1])
        if self.status == 200:
            self.posts.append(json.loads(body))
        writer.write(f"HTTP/1.1 {self.status} X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())
        await writer.drain()
        writer.close()
        self._came.set()

    async def next(self) -> None:
        """Wait for one more post."""
        self._came.clear()
        async with asyncio.timeout(5):
            await self._came.wait()

    def names(self, post: int = -1) -> list[tuple[str, bool]]:
        """Alerts of a post: the instance or document, and whether it is over."""
        labels = [(alert["labels"], "endsAt" in alert) for alert in self.posts[post]]
        return [(label.get("instance") or label.get("document") or label["version"], over) for label, over in labels]


class Pushing:
    """Alerts with what they report and drop."""

    def __init__(self, url: str) -> None:
        self.reports: list[str] = []
        self.drops: list[None] = []
        self.alerts = Alerts(
            url,
            gateway="gw-1",
            generator_url="http://gw-1:8081/status",
            wall=lambda: 1_700_000_000.0,
            draw=lambda: 0.5,
            on_drop=lambda: self.drops.append(None),
            report=self.reports.append,
            settings=QUICK,
        )

    def tell(self, kind: Kind, instance: str = "i-1", **fields: Any) -> None:
        self.alerts.change(Change(kind, 1, model_id="m", version="v1.0.0", instance=instance, **fields))


def play(story: Any, *, path: str = "") -> None:
    async def both() -> None:
        async with Receiver() as receiver:
            pushing = Pushing(f"http://127.0.0.1:{receiver.port}{path}")
            async with asyncio.TaskGroup() as group:
                task = group.create_task(pushing.alerts.run())
                try:
                    await story(receiver, pushing)
                finally:
                    task.cancel()

    asyncio.run(both())


def test_an_ejection_is_posted_at_once_repeated_and_ended() -> None:
    async def story(receiver: Receiver, pushing: Pushing) -> None:
        pushing.tell(Kind.INSTANCE_EJECTED, reason="digest differs")
        await receiver.next()
        await receiver.next()
        assert receiver.names(0) == receiver.names(1) == [("i-1", False)]
        assert receiver.posts[0][0]["startsAt"] == receiver.posts[1][0]["startsAt"]
        pushing.tell(Kind.INSTANCE_READMITTED)
        await receiver.next()
        assert receiver.names() == [("i-1", True)]
        count = len(receiver.posts)
        await asyncio.sleep(0.3)
        assert len(receiver.posts) == count

    play(story)


def test_the_path_is_alertmanagers_unless_there_is_one() -> None:
    async def story(receiver: Receiver, pushing: Pushing) -> None:
        pushing.tell(Kind.VERSION_UNSERVED)
        await receiver.next()
        assert receiver.paths == ["/api/v2/alerts"]

    async def with_path(receiver: Receiver, pushing: Pushing) -> None:
        pushing.tell(Kind.VERSION_UNSERVED)
        await receiver.next()
        assert receiver.paths == ["/hook?token=1"]

    play(story)
    play(with_path, path="/hook?token=1")


@pytest.mark.parametrize(
    ("url", "posted_to"),
    [
        ("http://a:9093", "http://a:9093/api/v2/alerts"),
        ("http://a:9093/", "http://a:9093/api/v2/alerts"),
        ("http://a/alertmanager/api/v2/alerts", "http://a/alertmanager/api/v2/alerts"),
        ("https://user:pass@a/hook", "https://user:pass@a/hook"),
    ],
)
def test_where_alerts_are_posted(url: str, posted_to: str) -> None:
    assert alert_url(url) == posted_to


def test_what_ends_while_the_receiver_is_away_is_told_when_it_is_back() -> None:
    async def story(receiver: Receiver, pushing: Pushing) -> None:
        receiver.status = 500
        pushing.tell(Kind.INSTANCE_EJECTED)
        await receiver.next()
        pushing.tell(Kind.INSTANCE_READMITTED)
        await receiver.next()
        await receiver.next()
        receiver.status = 200
        await receiver.next()
        while not receiver.posts:
            await receiver.next()
        assert receiver.names() == [("i-1", True)]
        await asyncio.sleep(0.05)
        assert pushing.reports == ["the receiver answered with status 500", ""]

    play(story)


def test_a_receiver_that_is_not_there_holds_up_nothing() -> None:
    async def story() -> None:
        pushing = Pushing("http://127.0.0.1:1")
        async with asyncio.TaskGroup() as group:
            task = group.create_task(pushing.alerts.run())
            pushing.tell(Kind.INSTANCE_EJECTED)
            await asyncio.sleep(0.2)
            task.cancel()
        assert len(pushing.reports) == 1
        assert "ConnectError" in pushing.reports[0]

    asyncio.run(story())


def test_more_alerts_than_there_is_room_for_are_dropped_and_counted() -> None:
    async def story(receiver: Receiver, pushing: Pushing) -> None:
        for number in range(5):
            pushing.tell(Kind.INSTANCE_EJECTED, f"i-{number}")
        await receiver.next()
        assert len(receiver.posts[0]) == QUICK.capacity
        assert len(pushing.drops) == 2

    play(story)


def test_the_same_thing_again_is_one_alert_with_the_latest_word() -> None:
    async def story(receiver: Receiver, pushing: Pushing) -> None:
        pushing.tell(Kind.DOCUMENT_REJECTED, key="routes/m", reason="first")
        pushing.tell(Kind.DOCUMENT_REJECTED, key="routes/m", reason="second")
        await receiver.next()
        (alert,) = receiver.posts[0]
        assert "second" in alert["annotations"]["summary"]

    play(story)


def test_ejected_again_before_the_end_was_told_is_not_over() -> None:
    async def story(receiver: Receiver, pushing: Pushing) -> None:
        pushing.tell(Kind.INSTANCE_EJECTED)
        pushing.tell(Kind.INSTANCE_READMITTED)
        pushing.tell(Kind.INSTANCE_EJECTED)
        await receiver.next()
        assert receiver.names() == [("i-1", False)]

    play(story)
