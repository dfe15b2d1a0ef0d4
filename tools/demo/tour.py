"""`make demo`: the demo fleet and a tour of it, act by act; it fails unless every act shows what it says."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence

from tools.demo.act import Act, Claim
from tools.demo.acts import canary, drifted, explained, killed, pinned, ranges
from tools.demo.fleet import Fleet
from tools.demo.scene import set_scene
from tools.demo.stage import perform, say

ACTS: Sequence[Act] = (pinned.ACT, ranges.ACT, canary.ACT, drifted.ACT, killed.ACT, explained.ACT)
INTERRUPTED = 130


def main() -> int:
    """Play all of it; 0 only if every claim of every act holds."""
    return perform(tour, name="demo", log_format="json", when_told_to_stop=INTERRUPTED)


async def tour(fleet: Fleet, acts: Sequence[Act] = ACTS) -> int:
    """Play the acts in order and say what each showed."""
    clock = asyncio.get_running_loop().time
    began = clock()
    failures = 0
    async with set_scene(fleet) as scene:
        for number, act in enumerate(acts, start=1):
            say(f"\n{number}. {act.title}\n   asked     {act.asked}")
            started = clock()
            claims = await act.play(scene)
            say("\n".join(told(claim) for claim in claims))
            holds = all(claim.holds for claim in claims)
            failures += not holds
            say(f"   verdict   {'shown' if holds else 'NOT SHOWN'} ({clock() - started:.1f} s)")
    say(f"\n{len(acts) - failures} of {len(acts)} acts showed what they say, in {clock() - began:.0f} s.")
    return 1 if failures else 0


def told(claim: Claim) -> str:
    """Write a claim as lines for a terminal."""
    first, *more = claim.seen.splitlines()
    mark = "observed" if claim.holds else "BUT     "
    return "\n".join([f"   {mark}  {first}", *(f"             {line}" for line in more)])


if __name__ == "__main__":
    sys.exit(main())
