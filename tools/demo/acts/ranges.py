"""A range resolves to the highest version that satisfies it, and a pre-release is in no range that does not name it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tools.demo.act import Act, Claim
from tools.demo.acts.pinned import counted
from tools.demo.documents import OLDER, STABLE
from tools.demo.scene import Scene

COUNT = 50
EXPECTED = {"^2.3": STABLE, "~2.3": OLDER, "stable": STABLE}


async def play(scene: Scene) -> Sequence[Claim]:
    """Ask by ranges and by an alias, then for what does not exist."""
    claims = []
    for selector, version in EXPECTED.items():
        answers = await scene.client.ask_all(scene.requests(COUNT, **{"X-Model-Preference": selector}))
        bodies = Counter(str(answer.body.get("version")) for answer in answers)
        claims.append(Claim(f"{selector} was answered by {counted(bodies)}", bodies == {version: COUNT}))
    missing = await scene.client.ask(scene.requests(1, **{"X-Model-Preference": "^3"})[0])
    available = ", ".join(missing.body.get("available", []))
    claims.append(Claim(f"^3 got {missing.status}, and was told what there is: {available}", missing.status == 404))
    return claims


ACT = Act(
    "A range",
    f"{COUNT} requests each with X-Model-Preference: {', '.join(EXPECTED)}; one with ^3. There are v2.3.1, v2.4.0 and "
    "v2.4.1-rc.1.",
    play,
)
