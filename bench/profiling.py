"""The profile: our gateway under load, its processor time per request without a profiler, then where that time goes.

py-spy stops the process for every sample, so it is never on while anything is timed.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from bench import procfs
from bench.calls import count_calls
from bench.cores import CoreSplit, pinned
from bench.load.driver import Driver
from bench.machine import describe
from bench.peers.gateway import GATEWAY
from bench.peers.peer import in_venv, word_after
from bench.peers.started import Started, start
from bench.places import workplace
from bench.results import Hot, Profile
from bench.stacks import Stacks, parse_stacks
from bench.upstream.nginx import NginxUpstream

SAMPLES_PER_S = 400
TOP = 25
SETTLE_S = 1.0
_SPARE_S = 60.0


class ProfilerError(Exception):
    """There is no profiler, or it failed; the message says what to do."""


def profile(cores: CoreSplit, *, seconds: float, connections: int) -> Profile:
    """Measure, then sample, both over the same load.

    Raises:
        ProfilerError: py-spy is not installed or may not look into the process.
        StartError: The gateway or the upstream did not start.
        LoadError: The load generator failed.
    """
    profiler, machine = _profiler(), describe(cores)
    with workplace() as folder, ExitStack() as stack:
        upstream = stack.enter_context(NginxUpstream(folder, cores=cores.upstream))
        driver = Driver(cores, folder, rest=upstream.pids)
        ours = start(GATEWAY, folder, upstream.urls, cores=cores.proxy, stack=stack)
        driver.closed(ours.target, connections=connections, seconds=SETTLE_S)
        spent = _timed(ours, driver, seconds=seconds, connections=connections)
        stacks = _sampled(profiler, ours, driver, cores.load, seconds=seconds, connections=connections)
        ours.running.stop()
        calls = count_calls(folder, upstream, cores, seconds=seconds, connections=connections)
    return Profile(
        taken_at=datetime.now(UTC).isoformat(timespec="seconds"),
        machine=machine,
        profiler=f"py-spy {_version(profiler)}",
        connections=connections,
        requests_per_s=spent.requests_per_s,
        cpu_us=spent.cpu_us,
        user_us=spent.user_us,
        system_us=spent.system_us,
        main_us=spent.main_us,
        samples=stacks.total,
        own=_hot(stacks.own(), stacks.total, spent.main_us),
        cumulative=_hot(stacks.cumulative(), stacks.total, spent.main_us),
        python_calls=calls.python,
        c_calls=calls.in_c,
        called=list(calls.functions[:TOP]),
    )


@dataclass(frozen=True, slots=True)
class _PerRequest:
    requests_per_s: float
    cpu_us: float
    user_us: float
    system_us: float
    main_us: float


def _timed(ours: Started, driver: Driver, *, seconds: float, connections: int) -> _PerRequest:
    def read() -> tuple[float, float, float]:
        return *procfs.split_cpu_s(ours.target.pids), procfs.main_thread_s(ours.running.pid)

    before = read()
    seen = driver.closed(ours.target, connections=connections, seconds=seconds)
    user, system, main = ((now - then) / seen.requests * 1e6 for now, then in zip(read(), before, strict=True))
    return _PerRequest(seen.requests_per_s, seen.cpu_us, user, system, main)


def _profiler() -> Path:
    found = in_venv("py-spy", "py-spy")()
    on_path = shutil.which("py-spy")
    if found is None and on_path is None:
        raise ProfilerError("py-spy is not here; python -m bench peers install py-spy")
    return found or Path(str(on_path))


def _sampled(
    profiler: Path, ours: Started, driver: Driver, cores: Sequence[int], *, seconds: float, connections: int
) -> Stacks:
    output = ours.site.folder / "stacks.txt"
    command = [
        str(profiler), "record", "--pid", str(ours.running.pid), "--duration", str(max(round(seconds), 1)),
        "--rate", str(SAMPLES_PER_S), "--format", "raw", "--threads", "--native", "--output", str(output),
    ]  # fmt: skip
    with pinned(cores):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        driver.closed(ours.target, connections=connections, seconds=seconds + 2)
        said, _ = process.communicate(timeout=_SPARE_S)
    finally:
        process.kill()
        process.wait()
    if process.returncode or not output.exists():
        raise ProfilerError(f"py-spy failed: {said[-1000:]}")
    return parse_stacks(output.read_text())


def _hot(counts: Sequence[tuple[str, int]], total: int, cpu_us: float) -> list[Hot]:
    """The first few; what stands under every sample (the way into the loop) says nothing and is left out."""
    telling = [(name, count) for name, count in counts if count < total]
    return [Hot(name, count / total, count / total * cpu_us) for name, count in telling[:TOP]]


def _version(profiler: Path) -> str:
    done = subprocess.run([str(profiler), "--version"], capture_output=True, text=True, timeout=10, check=False)
    return word_after("py-spy", done.stdout)
