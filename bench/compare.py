"""The comparison: all proxies up at once, measured in turn, round by round, so that noise meets all of them alike."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from bench import procfs
from bench.calm import Calm
from bench.cores import CoreSplit
from bench.load.driver import Driver, Target
from bench.load.sse import StreamReport
from bench.machine import describe
from bench.peers import gateway
from bench.peers.peer import Peer
from bench.peers.started import Started, start_all
from bench.places import workplace
from bench.plan import OPEN_CONNECTIONS, Plan, open_rate, rotated
from bench.progress import say
from bench.records import Records
from bench.results import DIRECT, ClosedRepeat, Comparison, Figures, Memory, OpenRepeat
from bench.upstream.streaming import StreamUpstream
from bench.upstream.unary import unary_name, unary_upstream

PEAK_AT = 32
"""The peak that the open-loop rate is half of was measured with so many connections."""
WARM_UP_S = 1.0


def compare(peers: Sequence[Peer], cores: CoreSplit, plan: Plan) -> Comparison:
    """Measure these proxies beside each other.

    Raises:
        StartError: The upstream did not start, or our gateway does not do all that it should be measured with.
        LoadError: A load generator failed.
    """
    machine = describe(cores)
    with workplace() as folder:
        unary = _Unary(folder, cores, plan)
        skipped = unary.run(peers)
        streams = _streams([peer for peer in peers if peer.name not in skipped], folder, cores, plan)
    return Comparison(
        taken_at=datetime.now(UTC).isoformat(timespec="seconds"),
        machine=machine,
        closed_by=unary.closed_by,
        answered_by=unary_name(),
        seconds=plan.seconds,
        rounds=plan.rounds,
        figures=unary.figures(streams),
        skipped=skipped,
        records_per_request=unary.records_per_request,
    )


class _Unary:
    """The part with whole answers: closed loops, then the open loop, then memory."""

    def __init__(self, folder: Path, cores: CoreSplit, plan: Plan) -> None:
        self._folder, self._cores, self._plan = folder, cores, plan
        self._calm = Calm(cores.all, plan.patience_s / 2)
        self._versions: dict[str, str] = {DIRECT: ""}
        self._closed: dict[str, dict[str, list[ClosedRepeat]]] = defaultdict(lambda: defaultdict(list))
        self._open: dict[str, list[OpenRepeat]] = defaultdict(list)
        self._memory: dict[str, list[float]] = defaultdict(list)
        self._records: Records | None = None
        self.closed_by = ""

    def run(self, peers: Sequence[Peer]) -> dict[str, str]:
        """Measure everybody; gives those that could not be, with the reason."""
        with ExitStack() as stack:
            upstream = unary_upstream(self._folder, cores=self._cores.upstream)
            stack.enter_context(upstream)
            driver = Driver(self._cores, self._folder, rest=upstream.pids)
            self.closed_by = driver.closed_by
            fleet = start_all(peers, self._folder, upstream.urls, cores=self._cores.proxy, stack=stack)
            self._note_versions(fleet.started)
            targets = {DIRECT: Target(upstream.port, ())} | {each.name: each.target for each in fleet.started}
            self._measure(driver, targets, fleet.started)
        return fleet.failed

    @property
    def records_per_request(self) -> float | None:
        return self._records.per_request if self._records else None

    def figures(self, streams: dict[str, list[StreamReport]]) -> list[Figures]:
        """Everything by proxy, the row without one last."""
        names = [name for name in self._versions if name != DIRECT] + [DIRECT]
        return [
            Figures(
                name=name,
                version=self._versions[name],
                closed={key: list(repeats) for key, repeats in self._closed[name].items()},
                open=self._open[name],
                streams=streams.get(name, []),
                memory=Memory(*self._memory[name]) if name in self._memory else None,
            )
            for name in names
        ]

    def _note_versions(self, started: Sequence[Started]) -> None:
        for each in started:
            program = each.peer.program()
            self._versions[each.name] = each.peer.version(program) if program else "unknown"
            if each.name == gateway.NAME:
                gateway.check_features(each.site.port)
                self._records = Records(each.running.log)

    def _measure(self, driver: Driver, targets: dict[str, Target], started: Sequence[Started]) -> None:
        self._weigh(started)
        for target in targets.values():
            driver.closed(target, connections=PEAK_AT, seconds=WARM_UP_S)
        if self._records is not None:
            self._records.forget()
        for turn in range(self._plan.rounds):
            self._closed_round(driver, targets, turn)
            if turn == 0:
                self._weigh(started)
        for turn in range(self._plan.rounds):
            self._open_round(driver, targets, turn)
        self._weigh(started)

    def _closed_round(self, driver: Driver, targets: dict[str, Target], turn: int) -> None:
        for connections in self._plan.connections:
            for name in rotated(list(targets), turn):
                self._calm.wait()
                seen = driver.closed(targets[name], connections=connections, seconds=self._plan.seconds)
                self._closed[name][str(connections)].append(ClosedRepeat.of(seen))
                if name == gateway.NAME and self._records:
                    self._records.took(seen.requests)
                say(f"round {turn + 1}: {name} at {connections}: {seen.requests_per_s:,.0f} requests/s")

    def _open_round(self, driver: Driver, targets: dict[str, Target], turn: int) -> None:
        peaks = {name: self._peak(name) for name in targets}
        ours = peaks.get(gateway.NAME, peaks[DIRECT])
        for name in rotated(list(targets), turn):
            rate = open_rate(peaks[name], ours)
            if rate < 1:
                continue
            self._calm.wait()
            seen = driver.open(targets[name], rate=rate, connections=OPEN_CONNECTIONS, seconds=self._plan.seconds)
            self._open[name].append(OpenRepeat.of(seen, rate))
            say(f"round {turn + 1}: {name} at {rate:,.0f} requests/s: p99 {seen.p99_ms:.2f} ms")

    def _peak(self, name: str) -> float:
        measured = self._closed[name]
        at = str(PEAK_AT) if str(PEAK_AT) in measured else next(iter(measured))
        return median(repeat.requests_per_s for repeat in measured[at])

    def _weigh(self, started: Sequence[Started]) -> None:
        for each in started:
            self._memory[each.name].append(procfs.rss_bytes(each.running.family) / 2**20)


def _streams(peers: Sequence[Peer], folder: Path, cores: CoreSplit, plan: Plan) -> dict[str, list[StreamReport]]:
    """Start everybody anew onto the streaming upstream and count."""
    measured: dict[str, list[StreamReport]] = defaultdict(list)
    calm = Calm(cores.all, plan.patience_s / 2)
    with ExitStack() as stack:
        upstream = stack.enter_context(StreamUpstream(folder, cores=cores.upstream, rate=plan.stream_rate))
        driver = Driver(cores, folder, rest=upstream.pids)
        fleet = start_all(peers, folder / "streams", upstream.urls, cores=cores.proxy, stack=stack)
        for turn in range(plan.rounds):
            for each in rotated(fleet.started, turn):
                calm.wait()
                number = max(round(plan.streams * each.peer.share), 1)
                seen = driver.streams(each.target, streams=number, seconds=plan.seconds)
                measured[each.name].append(seen)
                say(f"round {turn + 1}: {each.name}, {number} streams: {seen.cpu_us:.1f} µs of CPU per event")
    return measured
