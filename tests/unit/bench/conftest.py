"""A small comparison in which everything is fine, for the parts that read one."""

from __future__ import annotations

import pytest

from bench.load.sse import StreamReport
from bench.machine import Machine
from bench.peers.gateway import NAME
from bench.results import DIRECT, ClosedRepeat, Comparison, Figures, Memory, OpenRepeat

MACHINE = Machine("A Processor", 2, 8.0, "6.1", "3.11.7", 0.1, "proxy on core 0, upstream on core 1, load on core 1")


def figures(name: str, *, requests_per_s: float, cpu_us: float, p50_ms: float, p99_ms: float) -> Figures:
    closed = [
        ClosedRepeat(requests_per_s * noise, p50_ms, p99_ms, cpu_us, busy=1.0, foreign=0.0, failures=0)
        for noise in (0.5, 1.0, 2.0)
    ]
    opened = OpenRepeat(1_000, 1_000, p50_ms, 2 * p99_ms, 2 * p99_ms, late_ms=0.01, failures=0, tenth_p99_ms=p99_ms)
    stream = StreamReport(100, 0, 5_000, 5_000, 5_000.0, cpu_us, busy=0.1, foreign=0.0)
    return Figures(
        name=name,
        version="1.2",
        closed={"1": closed, "32": closed, "128": closed},
        open=[opened],
        streams=[stream],
        memory=Memory(70.0, 80.0, 81.0),
    )


@pytest.fixture
def comparison() -> Comparison:
    """Ours does 3,000 requests/s, nginx 6,000, Envoy 2,000, the router 1,500; vllm-router is there, HAProxy is not."""
    return Comparison(
        taken_at="2025-01-31T12:00:00+00:00",
        machine=MACHINE,
        closed_by="wrk 4.1.0",
        answered_by="nginx",
        seconds=2,
        rounds=3,
        figures=[
            figures(NAME, requests_per_s=3_000, cpu_us=20, p50_ms=0.15, p99_ms=0.9),
            figures("nginx", requests_per_s=6_000, cpu_us=16, p50_ms=0.12, p99_ms=0.5),
            figures("envoy", requests_per_s=2_000, cpu_us=25, p50_ms=0.25, p99_ms=2.0),
            figures("vllm-router", requests_per_s=1_500, cpu_us=21, p50_ms=0.21, p99_ms=2.0),
            figures(DIRECT, requests_per_s=9_000, cpu_us=0, p50_ms=0.05, p99_ms=0.2),
        ],
        skipped={"haproxy": "not found; install haproxy\nsecond line"},
        records_per_request=1.0,
    )
