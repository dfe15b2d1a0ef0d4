"""A worker killed under load costs no client anything, and what comes up in its place must prove itself first."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from tools.demo.act import Act, Claim
from tools.demo.acts.pinned import counted
from tools.demo.documents import STABLE
from tools.demo.load import under_load
from tools.demo.plan import DRIFTED
from tools.demo.scene import Scene
from tools.demo.standing import EJECTED, Standing
from tools.demo.traffic import Answer, failed
from tools.demo.waiting import NotYet
from tools.demo.worker import Worker

BEFORE_S, DEAD_S, AFTER_S = 1.0, 2.0, 1.0
ENOUGH = 50
"""Fewer answers would prove little."""


async def play(scene: Scene) -> Sequence[Claim]:
    """Under load: kill one of two, start the drifted model on its port, wait until that is found out."""
    victim = scene.honest(STABLE)
    honest = victim.member
    requests = scene.requests(len(scene.messages), **{"X-Model-Preference": STABLE})
    async with under_load(scene.client, requests) as load:
        await asyncio.sleep(BEFORE_S)
        victim.child.kill()
        await asyncio.sleep(DEAD_S)
        while_dead = load.take()
        victim.replace(replace(DRIFTED, name=f"{honest.name} (impostor)"))
        ejected = await scene.fleet.until("the impostor was ejected", lambda: _ejected(scene, victim))
        await asyncio.sleep(AFTER_S)
    while_impostor = load.take()
    victim.child.kill()
    victim.replace(honest)
    await scene.fleet.until("the honest worker was verified again", lambda: _verified(scene, victim))
    return [
        *_claims(scene, "killed", while_dead),
        Claim(f"the drifted model on its port is {ejected.identity}: {ejected.cause}", True),
        *_claims(scene, "replaced by the drifted model", while_impostor),
        Claim("the honest worker, started again, was verified and is back", True),
    ]


def _claims(scene: Scene, event: str, answers: Sequence[Answer]) -> list[Claim]:
    runtimes = Counter(scene.runtime_of(answer) for answer in answers)
    second = sum(answer.attempts == "2" for answer in answers)
    errors = failed(answers)
    told = "".join(f"\n  {answer.status} {answer.failure} {answer.body}" for answer in errors[:3])
    return [
        Claim(
            f"{event}: {len(errors)} errors in {len(answers)} answers, {second} of them by a second attempt{told}",
            not errors and len(answers) >= ENOUGH,
        ),
        Claim(f"{event}: the answers carry the DNA of {counted(runtimes)}", set(runtimes) == {STABLE}),
    ]


async def _ejected(scene: Scene, worker: Worker) -> Standing:
    standing = await scene.standing(worker)
    if standing.identity != EJECTED:
        raise NotYet(f"it is {standing.identity}")
    return standing


async def _verified(scene: Scene, worker: Worker) -> Standing:
    standing = await scene.standing(worker)
    if not standing.may_answer:
        raise NotYet(f"it is {standing.identity} and {standing.liveness} ({standing.cause})")
    return standing


ACT = Act(
    "A worker killed under load",
    f"Requests for {STABLE} without a pause, while one of its two workers is killed (SIGKILL) and the drifted model is "
    "started on its port.",
    play,
)
