"""A canary gets its share, by chance over users and never by chance for one user."""

from __future__ import annotations

from collections.abc import Sequence

from tools.demo.act import Act, Claim
from tools.demo.binomial import binomial_bounds
from tools.demo.documents import CANARY, CANARY_PERCENTAGE, STABLE, STICKY_HEADER
from tools.demo.scene import Scene
from tools.demo.traffic import Answer, Asked, failed

USERS = 2_000
AGAIN = 200
DOUBT = 0.001
"""A fair share leaves the bounds once in a thousand sets of users; these users are always the same."""


async def play(scene: Scene) -> Sequence[Claim]:
    """Ask once for every user, then again for some of either side."""
    answers = await scene.client.ask_all(user_requests(scene, range(USERS)))
    sides = {user_of(answer): written_by(answer) for answer in answers}
    canaries = [user for user, version in sides.items() if version == CANARY]
    low, high = binomial_bounds(USERS, CANARY_PERCENTAGE / 100, doubt=DOUBT)
    others = [user for user, version in sides.items() if version == STABLE]
    again = [*canaries, *others[: AGAIN - len(canaries)]]
    repeated = await scene.client.ask_all(user_requests(scene, again))
    moved = [answer for answer in repeated if written_by(answer) != sides[user_of(answer)]]
    return [
        Claim(f"{len(failed(answers))} errors in {USERS} answers", not failed(answers)),
        Claim(
            f"{len(canaries)} users ({len(canaries) / USERS:.2%}) were answered by {CANARY}; "
            f"{CANARY_PERCENTAGE} % allows {low} to {high}",
            low <= len(canaries) <= high,
        ),
        Claim(f"the other {len(others)} were answered by {STABLE}", len(canaries) + len(others) == USERS),
        Claim(f"asked again, {len(moved)} of {len(repeated)} users changed sides", not moved and len(repeated) > 0),
    ]


def user_requests(scene: Scene, users: Sequence[int]) -> list[Asked]:
    """Write one request per user that leaves the version to the route."""
    texts = scene.texts(len(users))
    return [Asked(text, headers={STICKY_HEADER: f"user-{user}"}) for user, text in zip(users, texts, strict=True)]


def user_of(answer: Answer) -> int:
    """Say whose request it was."""
    return int(answer.asked.headers[STICKY_HEADER].removeprefix("user-"))


def written_by(answer: Answer) -> str:
    """Say which version the worker wrote into the body."""
    return str(answer.body.get("version"))


ACT = Act(
    f"A canary at {CANARY_PERCENTAGE} %",
    f"{USERS} requests that name no version, each with an {STICKY_HEADER} of its own; then {AGAIN} of them again.",
    play,
)
