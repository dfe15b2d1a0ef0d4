"""One routed request with its answer, to the last byte out.

The story: `start` picks an instance → an `Attempt` brings a checked answer → `on_data` relays it → `_end`, the one
place every exchange passes, once.

The version is pinned. Second attempts stay inside it but look at the newest snapshot: an instance that was ejected a
moment ago must not be picked from an older one.
"""

from __future__ import annotations

from datetime import datetime

from gateway.health.liveness import ExchangeOutcome
from gateway.health.retry_after import retry_after_s
from gateway.proxy.answer_head import AnswerHead
from gateway.proxy.attempt import Attempt
from gateway.proxy.attempts import Again, after_failure, after_refused_answer
from gateway.proxy.decide import Ticket
from gateway.proxy.identity import Checked
from gateway.proxy.outgoing import outgoing_body, outgoing_lines, request_line
from gateway.proxy.own import OwnAnswer, from_problem, known_of
from gateway.proxy.plane import DataPlane
from gateway.proxy.problem import Problem, draining
from gateway.proxy.relay import Client, Relay
from gateway.proxy.request import Request
from gateway.proxy.stamps import lifecycle_stamps, route_stamps, worker_stamps
from gateway.proxy.times import Times, milliseconds, utc
from gateway.proxy.upstream import Failure
from gateway.routing.decision import NoInstance, Rejection
from gateway.routing.pickers import pick
from gateway.routing.snapshot import Instance, VersionView
from gateway.telemetry.access import AccessRecord
from gateway.telemetry.counts import count

_CODES = {
    Failure.REFUSED: "upstream_connect",
    Failure.UNREACHABLE: "upstream_connect",
    Failure.CONNECT_TIMEOUT: "upstream_connect",
    Failure.NO_SOCKET: "upstream_connect",
    Failure.STALE: "upstream_reset",
    Failure.RESET: "upstream_reset",
    Failure.MALFORMED: "upstream_malformed",
    Failure.TRUNCATED: "upstream_truncated",
}


class Exchange:
    """One request on its way. Made by the connection that read it; ends by itself or when the client leaves."""

    __slots__ = (
        "_attempt", "_attempts", "_body", "_checked", "_client", "_code", "_done", "_failure", "_instance",
        "_is_paused", "_lines", "_plane", "_rejected", "_relay", "_snapshot", "_ticket", "_times", "_traffic", "_tried",
        "_upstream_s", "_view", "_waiting", "request", "request_id", "waits_until",
    )  # fmt: skip

    def __init__(
        self, plane: DataPlane, client: Client, request: Request, ticket: Ticket, *, request_id: str, arrived_at: float
    ) -> None:
        self._plane = plane
        self._client = client
        self._ticket = ticket
        self._snapshot = ticket.snapshot
        self._view: VersionView = ticket.route.view
        self._traffic = plane.traffic(ticket.route.view.key, ticket.route.view.contract)
        self._relay = Relay(client, request, keep_alive=request.keep_alive)
        self._times = Times(arrived_at)
        self._attempt: Attempt | None = None
        self._instance: Instance | None = None
        self._upstream_s = 0.0
        self._checked: Checked | None = None
        self._lines = self._body = b""
        self._rejected: tuple[Rejection, ...] = ()
        self._tried: tuple[tuple[str, str, str], ...] = ()
        self._attempts = 0
        self._code: str | None = None
        self._failure = ("", "")
        self._waiting = self._done = self._is_paused = False
        self.request = request
        self.request_id = request_id
        self.waits_until = 0.0

    # attempts -----------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Send the request on its way."""
        self._plane.exchanges.add(self)
        returned = self._ticket.route.canary_returned
        if returned is not None:
            self._plane.metrics.of(self._traffic.key[0], str(returned)).canary_returned += 1
        self._try()

    def _try(self) -> None:
        """Pick an instance of the pinned version and send the request to it."""
        plane, ticket = self._plane, self._ticket
        picked = pick(
            self._view,
            dna_prefix=ticket.route.dna_prefix,
            dna_wish=ticket.asking.route.dna_wish,
            in_flight=self._traffic.in_flight,
            excluded=self._tried,
            draw=plane.draw(),
            now=plane.now(),
            slow_start_s=plane.slow_start_s,
        )
        if isinstance(picked, NoInstance):
            self._no_instance(picked)
            return
        self._attempts += 1
        self._tried = (*self._tried, picked.key)
        if not self._lines:
            self._body = outgoing_body(self.request, ticket.asking)
            client = self._client
            self._lines = outgoing_lines(
                self.request, self._body, request_id=self.request_id, peer=client.peer, is_trusted=client.is_trusted
            )
        there = plane.destination(self._traffic, picked)
        self._attempt = attempt = Attempt(plane, self, picked, there, view=self._view, snapshot=self._snapshot)
        line = request_line(self.request, ticket.target, base=there.base, host=there.host)
        attempt.begin(line + self._lines, self._body, is_head_request=self.request.method == "HEAD")

    def _try_another(self, code: str, detail: str) -> None:
        """Ask another instance of the same version; where there is none, answer with what happened."""
        self._failure = (code, detail)
        self.admit()

    def _no_instance(self, outcome: NoInstance) -> None:
        plane = self._plane
        if outcome.status == 429:
            if not self._waiting:
                self._waiting = True
                self.waits_until = plane.now() + plane.limits.admission_wait_s
            capacity = plane.capacity(self._view)
            if plane.now() < self.waits_until and plane.admission.join(self._traffic.key, self, capacity=capacity):
                return
        elif self._attempts:
            self._answer(self._failed(*self._failure))
            return
        self._answer(self._unavailable(outcome))

    def admit(self) -> None:
        """Try on the newest snapshot: there may be room now, or another instance."""
        self._snapshot = self._plane.snapshot()
        route = self._ticket.route
        view = self._snapshot.version(route.model.model_id, route.view.version)
        if view is not None:
            self._view, self._traffic = view, self._plane.traffic(view.key, view.contract)
        else:  # the version left: nothing is kept of it any more, and nobody answers for it
            self._view = VersionView(route.view.contract)
        self._try()

    def give_up(self) -> None:
        """Nothing came free in time."""
        self.waits_until = 0.0
        self.admit()

    # the attempt's side -------------------------------------------------------------------------------------------

    def on_answer(self, attempt: Attempt, head: AnswerHead, checked: Checked) -> None:
        """Make the head of the answer: the worker's lines, then our stamps.

        A DNA prefix is hard, and an instance may have come to another accepted stack since it was picked.
        """
        prefix, dna = self._ticket.route.dna_prefix, checked.stated.dna
        if prefix is not None and dna is not None and not dna.startswith(prefix):
            attempt.abort()
            self.on_withheld(attempt, f"the answer's DNA does not begin with {prefix}")
            return
        self._checked = checked
        self._times.head_at = self._times.last_read_at = attempt.head_at
        stamps = (
            route_stamps(self._ticket.route, self._traffic.stamps, attempts=self._attempts, request_id=self.request_id)
            + worker_stamps(checked.stated, checked.verdict.assurance)
            + (lifecycle_stamps(self._view.contract) if self._view.is_dated else b"")
        )
        self._relay.keep_alive = self._relay.keep_alive and not self._plane.draining
        self._relay.begin(head, stamps, date=self._plane.date)

    def on_data(self, data: bytes, *, complete: bool) -> None:
        """Relay what one read brought."""
        now = self._times.last_read_at = self._plane.now()
        if self._times.first_byte_at is None:
            self._times.first_byte_at = now
        self._relay.data(data, complete=complete)
        if complete:
            if self._attempt is not None:
                self._attempt.report(self._relay.outcome)
            self._end(now)
            self._client.finished(keep_alive=self._relay.keep_alive)

    def on_withheld(self, attempt: Attempt, reason: str) -> None:
        """Try elsewhere once, else say that no answer matched."""
        self._pass_over(attempt, f"dna_mismatch: {reason}")
        again = after_refused_answer(attempts=self._attempts, retries=attempt.view.contract.retries)
        self._again_or_answer(again, attempt, "dna_mismatch", reason)

    def on_attempt_failed(self, attempt: Attempt, failure: Failure, detail: str) -> None:
        """Try elsewhere where that is allowed, else say so; after the first byte the answer is cut."""
        code = _CODES[failure]
        if self._relay.status is not None:
            self._cut("upstream_truncated", detail)
            return
        self._pass_over(attempt, f"{code}: {detail}")
        again = after_failure(failure, attempts=self._attempts, retries=attempt.view.contract.retries)
        self._again_or_answer(again, attempt, code, detail)

    def _again_or_answer(self, again: Again, attempt: Attempt, code: str, detail: str) -> None:
        if again is Again.ANOTHER_INSTANCE or (
            again is Again.ANOTHER_IF_BUDGET and self._plane.may_repeat(attempt.traffic)
        ):
            self._try_another(code, detail)
        else:
            self._answer(self._failed(code, detail))

    def _pass_over(self, attempt: Attempt, reason: str) -> None:
        """Keep why an instance brought no answer, for the error that may follow."""
        passed = Rejection(attempt.instance.key[1], attempt.instance.id, reason)
        self._rejected = (*self._rejected, passed)

    # the client's side --------------------------------------------------------------------------------------------

    def client_left(self) -> None:
        """The client is gone: so is the worker's reason to go on."""
        if self._done:
            return
        self._plane.metrics.client_left("stream" if self._relay.status is not None else "head")
        self._code = "client_left"
        self._end(self._plane.now())

    def pause(self) -> None:
        """The client reads slower than the worker writes: stop reading from the worker."""
        self._is_paused = True
        if self._attempt is not None:
            self._attempt.pause()

    def resume(self) -> None:
        """The client caught up."""
        self._is_paused = False
        self._times.last_read_at = self._plane.now()
        if self._attempt is not None:
            self._attempt.resume()

    # deadlines ----------------------------------------------------------------------------------------------------

    def check(self, now: float) -> None:
        """Enforce the time limits of this exchange; called twice a second."""
        attempt = self._attempt
        if self._is_paused or attempt is None or not attempt.is_sent:
            return
        stream = self._ticket.asking.stream or self._relay.is_stream
        overdue = self._times.overdue(attempt.view.contract.timeouts, now, sent_at=attempt.sent_at, stream=stream)
        if overdue is not None:
            self._time_out(attempt, overdue)

    def _time_out(self, attempt: Attempt, detail: str) -> None:
        attempt.abort()
        attempt.report(ExchangeOutcome.TIMEOUT)
        if self._relay.status is not None:
            self._cut("upstream_timeout", detail)
            return
        self._pass_over(attempt, f"upstream_timeout: {detail}")
        self._answer(self._failed("upstream_timeout", detail, status=504))

    def is_answered_by(self, instance: Instance) -> bool:
        """The instance's answer is on its way to the client."""
        return self._attempt is not None and self._relay.is_workers and self._attempt.instance.key == instance.key

    def identity_changed(self, reason: str) -> None:
        """The instance was ejected in the middle of its answer: the rest would be of another identity."""
        self._cut("identity_changed", f"the instance is no longer what it was: {reason}", kind="identity_changed")

    def cut_for_shutdown(self) -> None:
        """The drain deadline is over: answer what has no head yet, cut what has."""
        if self._relay.status is not None:
            self._cut("draining", "the gateway is shutting down")
        else:
            self._answer(draining())

    # answers of ours ----------------------------------------------------------------------------------------------

    def _unavailable(self, outcome: NoInstance) -> Problem:
        rejected = (*self._rejected, *outcome.rejected)
        why = "; ".join(f"{r.instance} {r.reason}" for r in rejected) or "it has no instances"
        detail = f"{' '.join(self._traffic.key)} cannot answer now: {why}."
        wait = retry_after_s(outcome.back_at, now=self._plane.now(), draw=self._plane.draw())
        return Problem(outcome.status, outcome.code, detail, rejected=rejected, retry_after_s=wait)

    def _failed(self, code: str, detail: str, *, status: int = 502) -> Problem:
        detail = f"{' '.join(self._traffic.key)} gave no usable answer: {detail}."
        return Problem(status, code, detail, rejected=self._rejected, final=self._attempts > 1)

    def _answer(self, problem: Problem) -> None:
        route, generation = self._ticket.route, self._snapshot.generation
        known = known_of(route, request_id=self.request_id, generation=generation, attempts=self._attempts)
        answer = from_problem(problem, known, family=self._ticket.target.family, path=self.request.path)
        self._code = answer.code
        self._relay.keep_alive = self._relay.keep_alive and not self._plane.draining
        self._relay.own(answer, date=self._plane.date)
        self._end(self._plane.now())
        self._client.finished(keep_alive=self._relay.keep_alive)

    def _cut(self, code: str, detail: str, *, kind: str = "truncated") -> None:
        target = self._ticket.target
        self._code = code
        count(self._traffic.counts.streams_failed, kind)
        reset = self._relay.cut(code=code, detail=detail, family=target.family, path=target.path)
        self._end(self._plane.now())
        self._client.cut(reset=reset)

    # the end ------------------------------------------------------------------------------------------------------

    def _end(self, now: float) -> None:
        """Every exchange passes here once: places are freed now, and it is accounted for once its last bytes left."""
        if self._done:
            return
        self._done = True
        plane = self._plane
        plane.exchanges.discard(self)
        if self._waiting:
            plane.admission.leave(self._traffic.key, self)
        self._times.ended_at = now
        # Let go of the attempt, which refers back: nothing is left for the garbage collector.
        attempt, self._attempt = self._attempt, None
        if attempt is not None:
            self._instance, self._upstream_s = attempt.instance, self._times.upstream_s(attempt.sent_at)
            attempt.abort()
        plane.ended(self)

    def account(self, at: datetime) -> AccessRecord:
        """Count it and give its record, which says that it ended at this moment."""
        record = self._summary(at)
        self._plane.metrics.finished(record, upstream_s=self._upstream_s, counts=self._traffic.counts)
        return record

    def _summary(self, at: datetime) -> AccessRecord:
        route, instance, relay = self._ticket.route, self._instance, self._relay
        model_id, version = self._traffic.key
        stated = self._checked.stated if self._checked is not None and relay.is_workers else None
        return AccessRecord(
            ts=at,
            request_id=self.request_id,
            method=self.request.method,
            path=self.request.path,
            model_id=model_id,
            requested=route.requested,
            version=version,
            route_reason=route.reason,
            dna=stated.dna if stated is not None else None,
            digest=stated.digest if stated is not None else None,
            input_hash=stated.input_hash if stated is not None else None,
            gpu_name=instance.gpu_name if instance is not None else None,
            instance=instance.id if instance is not None else None,
            attempts=self._attempts,
            generation=self._snapshot.generation,
            status=499 if self._code == "client_left" else relay.status or 0,
            code=self._code,
            bytes_in=len(self.request.body),
            bytes_out=relay.bytes_out,
            ttfb_ms=self._times.first_byte_ms,
            duration_ms=self._times.duration_ms,
            client=self._client.peer,
        )


def answer_own(plane: DataPlane, client: Client, request: Request, answer: OwnAnswer, *, arrived_at: float) -> None:
    """Write an answer that needed no worker, and its record."""
    relay = Relay(client, request, keep_alive=request.keep_alive and not answer.close and not plane.draining)
    relay.own(answer, date=plane.date)
    known = answer.known
    record = AccessRecord(
        ts=utc(plane.wall()),
        request_id=known.request_id,
        method=request.method,
        path=request.path,
        model_id=known.model_id,
        requested=known.requested,
        version=str(known.version) if known.version is not None else None,
        route_reason=known.reason,
        generation=known.generation,
        status=answer.status,
        code=answer.code,
        bytes_in=len(request.body),
        bytes_out=relay.bytes_out,
        duration_ms=milliseconds(plane.now() - arrived_at),
        client=client.peer,
    )
    plane.metrics.finished(record)
    plane.write_records([record])
    client.finished(keep_alive=relay.keep_alive)
