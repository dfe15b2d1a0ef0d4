"""The fleet refuses to show what is not so."""

import asyncio
import os
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.demo_process import demo_environment
from tools.demo.child import Child
from tools.demo.documents import STABLE
from tools.demo.fleet import Fleet, FleetFailed
from tools.demo.plan import DRIFTED_BUNDLE, PLAN, Member
from tools.demo.ports import GatewayPorts, free_ports
from tools.demo.run_folder import RunFolder
from tools.demo.stage import perform

pytestmark = [pytest.mark.slow, pytest.mark.timeout(200)]


def start(runs: Path, plan: Sequence[Member]) -> list[Fleet]:
    """Start a fleet and stop it; gives the fleet, whose processes have ended."""
    started: list[Fleet] = []

    async def main(folder: RunFolder) -> None:
        port, admin_port = free_ports(2)
        fleet = Fleet(folder, GatewayPorts(port, admin_port), log_format="json", say=lambda _: None, plan=plan)
        started.append(fleet)
        async with fleet:
            pass

    with RunFolder(runs) as folder:
        asyncio.run(main(folder))
    return started


def test_a_changed_bundle_cannot_enrol_as_the_honest_one(tmp_path: Path) -> None:
    with pytest.raises(FleetFailed) as failed:
        start(tmp_path, [Member("liar", DRIFTED_BUNDLE, STABLE, is_honest=True)])

    assert str(failed.value).startswith("The worker liar cannot enrol.")
    assert "tokenizer" in str(failed.value)


def test_a_worker_that_does_not_start_is_named_with_its_last_words(tmp_path: Path) -> None:
    with pytest.raises(FleetFailed, match=r"worker ghost \(process \d+\) ended with exit status") as failed:
        start(tmp_path, [Member("ghost", "no-such-bundle", STABLE)])

    assert "no-such-bundle" in str(failed.value)
    assert "Traceback" not in str(failed.value)


def test_a_fleet_that_ran_is_stopped_whole(tmp_path: Path) -> None:
    [fleet] = start(tmp_path, [Member("only", STABLE, STABLE)])

    assert fleet.gateway is not None
    assert not fleet.gateway.is_running
    assert not any(worker.child.is_running for worker in fleet.workers)


@pytest.mark.parametrize("which", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_it_is_being_stopped_leaves_no_process(tmp_path: Path, which: signal.Signals) -> None:
    started: list[Child] = []

    async def play(fleet: Fleet) -> int:
        started.extend([worker.child for worker in fleet.workers])
        # The block of the fleet is left now; the signal comes while its processes are waited for.
        asyncio.get_running_loop().call_later(0.05, os.kill, os.getpid(), which)
        return 7

    environment = demo_environment(tmp_path)
    status = perform(play, name="demo", log_format="json", when_told_to_stop=130, environment=environment)

    assert status == 7
    assert len(started) == len(PLAN)
    assert not any(child.is_running for child in started)
