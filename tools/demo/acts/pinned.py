"""A version that is named is the version that answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tools.demo.act import Act, Claim
from tools.demo.documents import OLDER, STABLE
from tools.demo.scene import Scene
from tools.demo.traffic import failed

COUNT = 100


async def play(scene: Scene) -> Sequence[Claim]:
    """Ask for two versions, one by header and one by path, mixed."""
    by_header = scene.requests(COUNT, **{"X-Model-Preference": STABLE})
    by_path = scene.requests(COUNT, path=f"/{OLDER}/generate")
    answers = await scene.client.ask_all([asked for pair in zip(by_header, by_path, strict=True) for asked in pair])
    claims = [Claim(f"{len(failed(answers))} errors in {len(answers)} answers", not failed(answers))]
    for version, path in ((STABLE, by_header[0].path), (OLDER, by_path[0].path)):
        mine = [answer for answer in answers if answer.asked.path == path]
        bodies = Counter(str(answer.body.get("version")) for answer in mine)
        runtimes = Counter(scene.runtime_of(answer) for answer in mine)
        claims.append(Claim(f"asked for {version}: the bodies say {counted(bodies)}", bodies == {version: COUNT}))
        claims.append(
            Claim(f"asked for {version}: the DNA is that of {counted(runtimes)}", runtimes == {version: COUNT})
        )
    return claims


def counted(counts: Counter[str]) -> str:
    """Write counts as people read them: `99 x v2.4.0, 1 x v2.3.1`."""
    return ", ".join(f"{count} x {name}" for name, count in counts.most_common()) or "nothing"


ACT = Act(
    "A pinned version",
    f"{COUNT} requests with the header X-Model-Preference: {STABLE}, and between them {COUNT} to /{OLDER}/generate.",
    play,
)
