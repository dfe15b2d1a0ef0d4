"""Calls per request: the gateway under Python's own deterministic profiler.

The counts are exact and the same on every machine and in every noise. The times are not to be believed as they are (a
profiled call costs about a microsecond more); they rank functions that were called equally often.
"""

from __future__ import annotations

import marshal
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from bench.ask import relays
from bench.cores import CoreSplit
from bench.load.driver import Driver, Target
from bench.peers import gateway
from bench.peers.peer import Site
from bench.places import ROOT
from bench.processes import Running, free_port
from bench.results import Called
from bench.upstream.nginx import NginxUpstream
from bench.work import MODEL

PER_REQUEST = 0.5
"""Functions called less often belong to the start or to the probes."""
START_S = 60.0
_IN_C = "~"

Stat = tuple[int, int, float, float, object]
"""Primitive calls, calls, own seconds, seconds with everything below, callers."""


@dataclass(frozen=True, slots=True)
class CallCounts:
    """Calls per request: of Python functions, of C functions, and each Python function by itself."""

    python: float
    in_c: float
    functions: tuple[Called, ...]


def count_calls(
    folder: Path, upstream: NginxUpstream, cores: CoreSplit, *, seconds: float, connections: int
) -> CallCounts:
    """Load a gateway of its own for so long and count.

    Raises:
        StartError: It did not start.
        LoadError: The load generator failed.
    """
    site = Site(folder / "calls", free_port(), free_port(), upstream.urls)
    site.folder.mkdir()
    gateway.write_contract(site.folder, MODEL, site.upstreams)
    dump = site.folder / "calls.profile"
    program, *arguments = gateway.command(site, Path(sys.executable))
    command = [program, "-m", "cProfile", "-o", str(dump), *arguments]
    driver = Driver(cores, site.folder, rest=upstream.pids)
    log, env = site.folder / "output.log", {"PYTHONPATH": str(ROOT)}
    with ExitStack() as stack:
        running = stack.enter_context(Running(command, cores=cores.proxy, log=log, cwd=site.folder, env=env))
        running.wait_until(lambda: relays(site.port), what="the gateway to relay", timeout_s=START_S)
        seen = driver.closed(Target(site.port, running.family), connections=connections, seconds=seconds)
    # The profiler writes its file when the gateway has ended.
    return counted(marshal.loads(dump.read_bytes()), seen.requests)


def counted(stats: Mapping[tuple[str, int, str], Stat], requests: int) -> CallCounts:
    """Divide by requests, and leave out what does not belong to them."""
    functions, in_c = [], 0.0
    for (file, _, name), (_, calls, own_s, below_s, _) in stats.items():
        per_request = calls / requests
        if per_request < PER_REQUEST:
            continue
        if file == _IN_C:
            in_c += per_request
        else:
            functions.append(Called(_named(file, name), per_request, own_s / requests * 1e6, below_s / requests * 1e6))
    functions.sort(key=lambda called: called.own_us, reverse=True)
    return CallCounts(sum(called.calls for called in functions), in_c, tuple(functions))


def _named(file: str, name: str) -> str:
    path = Path(file)
    shown = path.relative_to(ROOT) if path.is_relative_to(ROOT) else Path(path.name)
    return f"{name} ({shown})"
