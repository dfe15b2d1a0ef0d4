"""What a run measured, as it is written to `results/latest.json`. All repeats are kept, summaries come on reading."""

from __future__ import annotations

from pathlib import Path

import msgspec

from bench.load.client import ClientReport
from bench.load.driver import Closed
from bench.load.sse import StreamReport
from bench.machine import Machine

DIRECT = "direct"
"""Name of the row that has no proxy: the load generator straight onto the upstream."""


class ClosedRepeat(msgspec.Struct, frozen=True):
    """One closed-loop run; `cpu_us` of the proxy per request, `busy` and `foreign` as in `load.window.Spent`."""

    requests_per_s: float
    p50_ms: float
    p99_ms: float
    cpu_us: float
    busy: float
    foreign: float
    failures: int

    @staticmethod
    def of(seen: Closed) -> ClosedRepeat:
        """One run as it is kept."""
        return ClosedRepeat(
            requests_per_s=seen.requests_per_s,
            p50_ms=seen.p50_ms,
            p99_ms=seen.p99_ms,
            cpu_us=seen.cpu_us,
            busy=seen.spent.busy,
            foreign=seen.spent.foreign,
            failures=seen.failures,
        )


class OpenRepeat(msgspec.Struct, frozen=True):
    """One open-loop run at `rate`; `late_ms` and `tenth_p99_ms` as in `load.client.ClientReport`."""

    rate: float
    requests_per_s: float
    p50_ms: float
    p99_ms: float
    p999_ms: float
    late_ms: float
    failures: int
    tenth_p99_ms: float | None = None
    """None in results that are older than it."""

    @staticmethod
    def of(seen: ClientReport, rate: float) -> OpenRepeat:
        """One run as it is kept."""
        return OpenRepeat(
            rate=rate,
            requests_per_s=seen.requests / seen.duration_s,
            p50_ms=seen.p50_ms,
            p99_ms=seen.p99_ms,
            p999_ms=seen.p999_ms,
            late_ms=seen.late_ms,
            failures=seen.bad_status + seen.broken,
            tenth_p99_ms=seen.tenth_p99_ms,
        )


class Memory(msgspec.Struct, frozen=True):
    """Resident memory in MiB: after start, after the first round, after the last."""

    started: float
    warm: float
    end: float


class Figures(msgspec.Struct, frozen=True):
    """All repeats of one proxy; `closed` by number of connections, as text because JSON keys are text."""

    name: str
    version: str
    closed: dict[str, list[ClosedRepeat]]
    open: list[OpenRepeat] = []
    streams: list[StreamReport] = []
    memory: Memory | None = None


class Comparison(msgspec.Struct, frozen=True):
    """One run side by side. `records_per_request` shows that our access records were written while measured."""

    taken_at: str
    machine: Machine
    closed_by: str
    answered_by: str
    seconds: float
    rounds: int
    figures: list[Figures]
    skipped: dict[str, str]
    records_per_request: float | None = None

    def of(self, name: str) -> Figures | None:
        """The figures of one proxy."""
        return next((figures for figures in self.figures if figures.name == name), None)


class GrowthRow(msgspec.Struct, frozen=True):
    """One size of fleet; `axis` is what there are `size` of. `probe_interval_s` grows with the fleet, see the page.

    `ready_s` is None, and nothing was measured, where the fleet was not verified within `growth.served.READY_S`.
    `closed_dials` and `open_dials` say, run by run, which share of the requests dialled a worker. `beside` is the fleet
    of the first row, measured right after each of `repeats`; empty in that row itself, and in results from when each
    fleet was measured by itself.
    """

    axis: str
    size: int
    ready_s: float | None
    probe_interval_s: float
    rss_mib: float
    repeats: list[ClosedRepeat]
    open: list[OpenRepeat] = []
    closed_dials: list[float] = []
    open_dials: list[float] = []
    beside: list[ClosedRepeat] = []


class Growth(msgspec.Struct, frozen=True):
    """Ours against the size of its fleet; `rounds` is 0 in results from when each fleet was measured by itself."""

    taken_at: str
    machine: Machine
    closed_by: str
    connections: int
    rows: list[GrowthRow]
    seconds: float = 0.0
    rounds: int = 0


class Hot(msgspec.Struct, frozen=True):
    """One function's own time: share of all samples, microseconds per request."""

    function: str
    share: float
    us: float


class Called(msgspec.Struct, frozen=True):
    """One function under the deterministic profiler: calls and microseconds per request, its own and with all below."""

    function: str
    calls: float
    own_us: float
    below_us: float


class Profile(msgspec.Struct, frozen=True):
    """Where a request's time goes; microseconds of CPU per request, measured without the profiler.

    `user_us` and `system_us` split the whole, `main_us` is the thread that serves; `own` and `cumulative` split that.
    The calls per request were counted in a run of their own.
    """

    taken_at: str
    machine: Machine
    profiler: str
    connections: int
    requests_per_s: float
    cpu_us: float
    user_us: float
    system_us: float
    main_us: float
    samples: int
    own: list[Hot]
    cumulative: list[Hot]
    python_calls: float
    c_calls: float
    called: list[Called]


class HashingRepeat(msgspec.Struct, frozen=True):
    """One hashing of one folder: GB (10^9 bytes) a second, CPU seconds a GB, foreign CPU as in `load.window.Spent`."""

    gb_per_s: float
    cpu_s_per_gb: float
    foreign: float


class HashingRow(msgspec.Struct, frozen=True):
    """All repeats of one tool over one shape of folder, in the order of the rounds."""

    shape: str
    name: str
    version: str
    repeats: list[HashingRepeat]


class HashingComparison(msgspec.Struct, frozen=True):
    """Hashing a folder of `gigabytes` (10^9 bytes) by several tools in one run."""

    taken_at: str
    machine: Machine
    gigabytes: float
    rounds: int
    rows: list[HashingRow]
    skipped: dict[str, str]


class Times(msgspec.Struct, frozen=True):
    """Seconds, simulated: the least, the median, the most."""

    least: float
    median: float
    most: float


class Partition(msgspec.Struct, frozen=True):
    """Half of the gateways without Consul, while instances drift.

    `alone` from losing Consul to probing everything; `ejected_…` from the drift to the last gateway on that side.
    `out_afterwards` counts, over all gateways, what is still out once everybody is together and everything is healed.
    """

    cut: int
    alone: Times | None
    probes_per_s_of_one_cut_off: float
    ejected_where_connected: Times | None
    ejected_where_cut_off: Times | None
    members_afterwards: int
    living: int
    out_afterwards: int


class FleetRow(msgspec.Struct, frozen=True):
    """One number of gateways. What is per second and not of one gateway is of all of them together.

    `first_ejection` from the drift to the first gateway, `ejected_everywhere` from there to the last. `taken_over` from
    the death of a gateway to the first probe by somebody new, for all that were seen to within a quarter of a minute;
    `not_taken_over` counts the others.
    """

    gateways: int
    probes_per_s: float
    probes_per_s_of_one: float
    probes_per_s_of_busiest: float
    quiet_writes_per_s: float
    quiet_reads_per_s: float
    quiet_bytes_per_s: float
    renewals_per_s: float
    drifting_writes_per_s: float
    drifting_bytes_per_s: float
    first_ejection: Times | None
    ejected_everywhere: Times | None
    not_ejected_everywhere: int
    admitted_everywhere: Times | None
    probes_of_a_new_instance: float
    taken_over: Times | None
    not_taken_over: int
    partition: Partition


class FleetSimulation(msgspec.Struct, frozen=True):
    """Many gateways that share verdicts, simulated; the same seed gives the same figures on every machine."""

    instances: int
    probers: int
    seed: int
    rows: list[FleetRow]


class Results(msgspec.Struct, frozen=True):
    """Everything that was measured last; parts may come from different runs."""

    comparison: Comparison | None = None
    growth: Growth | None = None
    profile: Profile | None = None
    hashing: HashingComparison | None = None
    fleet: FleetSimulation | None = None


def read_results(path: Path) -> Results:
    """Read what was measured before; nothing when there is no such file."""
    return msgspec.json.decode(path.read_bytes(), type=Results) if path.exists() else Results()


def write_results(path: Path, results: Results) -> None:
    """Write rounded numbers, indented, so that a change of figures reads well in a diff."""
    plain = msgspec.to_builtins(results)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(_rounded(plain)), indent=1) + b"\n")


def _rounded(value: object) -> object:
    match value:
        case float():
            return round(value, 4)
        case dict():
            return {key: _rounded(item) for key, item in value.items()}
        case list():
            return [_rounded(item) for item in value]
        case _:
            return value
