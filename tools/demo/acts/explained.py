"""The gateway says why, without sending anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tools.demo.act import Act, Claim
from tools.demo.acts.canary import user_requests, written_by
from tools.demo.documents import CANARY, MODEL, STABLE
from tools.demo.plan import DRIFTED
from tools.demo.scene import Scene

USERS = 400
"""So many without one in a canary of 5 % happen once in a billion sets of users."""


async def play(scene: Scene) -> Sequence[Claim]:
    """Ask why for a pinned version and for a user, and hold the second against a real request."""
    pinned = await scene.admin.get("/explain", model=MODEL, preference=STABLE)
    drifted = scene.fleet.worker(DRIFTED.name)
    refused = _candidate(pinned, drifted.address)
    honest = [one.address for one in scene.fleet.workers if one.member.is_honest and one.member.version == STABLE]
    return [
        Claim(f"{STABLE}: would go to {pinned['instance']} (reason: {pinned['reason']})", pinned["instance"] in honest),
        Claim(
            f"{STABLE}: would not go to {drifted.address}: {refused['reason']}",
            not refused["kept"] and refused["reason"].startswith("ejected"),
        ),
        await _canary_user(scene),
    ]


async def _canary_user(scene: Scene) -> Claim:
    for user in range(USERS):
        told = await scene.admin.get("/explain", model=MODEL, sticky=f"user-{user}")
        if told["reason"] == "canary":
            answer = await scene.client.ask(user_requests(scene, [user])[0])
            seen = (
                f"user-{user}: bucket {told['canary']['bucket']:.4f}, so {told['version']}; "
                f"a request of that user was answered by {written_by(answer)}"
            )
            return Claim(seen, told["version"] == written_by(answer) == CANARY)
    return Claim(f"none of {USERS} users is in the canary's share", False)


def _candidate(explained: Mapping[str, Any], instance: str) -> Mapping[str, Any]:
    candidate: Mapping[str, Any] = next(one for one in explained["candidates"] if one["instance"] == instance)
    return candidate


ACT = Act(
    "Why",
    f"/explain for {STABLE}, and for users until one is in the canary's share.",
    play,
)
