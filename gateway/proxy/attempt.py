"""One try upstream: an instance, a connection to it, and the check of what it answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gateway.health.liveness import ExchangeOutcome
from gateway.proxy.answer_head import AnswerHead
from gateway.proxy.attempts import NOT_CONNECTED, may_repeat_fresh
from gateway.proxy.identity import AnswerJudge, lost_trust
from gateway.proxy.plane import DataPlane, Destination, Traffic
from gateway.proxy.pool import dial_failure
from gateway.proxy.upstream import Failure, UpstreamConnection
from gateway.routing.snapshot import Instance, Snapshot, VersionView
from gateway.telemetry.counts import count

if TYPE_CHECKING:
    from gateway.proxy.exchange import Exchange

_OK: Final = ExchangeOutcome.OK


class Attempt:
    """Occupies one place of its instance from `begin` to `release`.

    Exactly one of the owner's `on_withheld`, `on_attempt_failed` or a complete `on_data` ends it.
    """

    __slots__ = (
        "_body", "_closed", "_connection", "_destination", "_head", "_owner", "_plane", "_snapshot", "head_at",
        "instance", "is_head_request", "repeated_fresh", "sent_at", "view",
    )  # fmt: skip

    def __init__(
        self,
        plane: DataPlane,
        owner: Exchange,
        instance: Instance,
        destination: Destination,
        *,
        view: VersionView,
        snapshot: Snapshot,
    ) -> None:
        self._plane = plane
        self._owner = owner
        self._snapshot = snapshot
        self._destination = destination
        self._connection: UpstreamConnection | None = None
        self._head = self._body = b""
        self._closed = False
        self.instance = instance
        self.view = view
        self.repeated_fresh = False
        self.is_head_request = False
        self.sent_at = 0.0
        self.head_at: float | None = None

    @property
    def traffic(self) -> Traffic:
        """Of the version that the attempt is within."""
        return self._destination.traffic

    @property
    def is_sent(self) -> bool:
        """The request is with the worker."""
        return self._connection is not None

    def begin(self, head: bytes, body: bytes, *, is_head_request: bool) -> None:
        """Send the request over a pooled connection, or dial one."""
        self._head, self._body = head, body
        self.is_head_request = is_head_request
        destination = self._destination
        self._plane.occupy(destination)
        destination.traffic.counts.attempts += 1
        connection = destination.pool.take()
        if connection is not None:
            self._send(connection)
        else:
            self._plane.dial(self._dial())

    def abort(self) -> None:
        """Stop: the client left, a limit is over, or the answer must not go on."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.abort()
        self.release()

    def release(self) -> None:
        """Give the instance's place back, once."""
        if not self._closed:
            self._closed = True
            self._plane.release(self._destination)

    def pause(self) -> None:
        """Stop reading from the worker."""
        if self._connection is not None:
            self._connection.pause()

    def resume(self) -> None:
        """Read on."""
        if self._connection is not None:
            self._connection.resume()

    def report(self, outcome: ExchangeOutcome) -> None:
        """Say how this attempt ended, as liveness sees it; a success after a success says nothing new."""
        destination = self._destination
        if outcome is _OK and not destination.is_failing:
            return
        if outcome is not ExchangeOutcome.IGNORED:
            destination.is_failing = outcome is not _OK
        self._plane.report.observe_exchange(self.instance, outcome)

    async def _dial(self) -> None:
        self._destination.traffic.counts.dials += 1
        try:
            connection = await self._destination.pool.dial(timeout_s=self.view.contract.timeouts.connect_s)
        except OSError as error:
            if not self._closed:
                self.on_failed(dial_failure(error), f"no connection ({error.strerror or 'timed out'})")
            return
        if self._closed:
            connection.abort()
        else:
            self._send(connection)

    def _send(self, connection: UpstreamConnection) -> None:
        self._connection = connection
        self.sent_at = self._plane.now()
        connection.send(self, self._head, self._body, head_only=self.is_head_request)

    # the connection's side ----------------------------------------------------------------------------------------

    def on_head(self, head: AnswerHead) -> None:
        """Check the identity of the answer before anything of it goes on.

        The newest contract decides, not the one the request was routed by: what it no longer accepts, or an instance
        ejected meanwhile, answers nobody.
        """
        plane, destination = self._plane, self._destination
        self.head_at = plane.now()
        newest = plane.snapshot()
        contract = self.view.contract
        if newest is not self._snapshot:
            view = newest.version(self.instance.model_id, self.instance.version)
            contract = view.contract if view is not None else contract
        judge = destination.traffic.judge
        if judge.contract is not contract:
            judge = destination.traffic.judge = AnswerJudge(contract)
        checked = judge.check(head)
        match = checked.match
        if match is not None and match is destination.settled:
            count(destination.traffic.counts.identity_checks, "response", "match", match.verdict.assurance or "none")
        else:
            seen = checked.observation or checked.stated.observed(head.status, dna_required=True)
            plane.report.observe_response(self.instance, seen, checked.verdict, started_at=self.sent_at)
            destination.settled = match if plane.snapshot() is newest else None
        withheld = checked.withheld
        if withheld is None and newest is not self._snapshot:
            withheld = lost_trust(self.instance, newest)
        if withheld is None:
            self._owner.on_answer(self, head, checked)
        else:
            self.abort()
            self._owner.on_withheld(self, withheld)

    def on_data(self, data: bytes, *, complete: bool) -> None:
        """Hand body bytes on."""
        if complete:
            self._connection = None
        self._owner.on_data(data, complete=complete)

    def on_failed(self, failure: Failure, detail: str) -> None:
        """Repeat over a fresh connection where the kept one was stale; all else is the owner's to decide."""
        self._connection = None
        count(self._destination.traffic.counts.upstream_errors, failure)
        if may_repeat_fresh(failure, retries=self.view.contract.retries, repeated=self.repeated_fresh):
            self._repeat_fresh()
            return
        self.report(_outcome(failure))
        self.release()
        self._owner.on_attempt_failed(self, failure, detail)

    def _repeat_fresh(self) -> None:
        """Send once more, no attempt counted: the kept connection was stale, and so may be its siblings."""
        self.repeated_fresh = True
        self._destination.traffic.counts.stale_reuse += 1
        self._destination.pool.drop_idle()
        self._plane.dial(self._dial())


def _outcome(failure: Failure) -> ExchangeOutcome:
    """Say what a failure means for liveness: being out of sockets ourselves says nothing of a worker."""
    if failure is Failure.NO_SOCKET:
        return ExchangeOutcome.IGNORED
    return ExchangeOutcome.REFUSED if failure in NOT_CONNECTED else ExchangeOutcome.FAILED
