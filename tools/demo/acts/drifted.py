"""An instance that claims a version and is something else is found out, and answers nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tools.demo.access_log import records_of
from tools.demo.act import Act, Claim
from tools.demo.acts.pinned import counted
from tools.demo.documents import STABLE
from tools.demo.plan import DRIFTED
from tools.demo.scene import Scene
from tools.demo.standing import EJECTED
from tools.demo.traffic import Client
from tools.demo.worker import Worker

COUNT = 300
EXAMPLES = 3


async def play(scene: Scene) -> Sequence[Claim]:
    """Look at it as the gateway does, ask for its version, and compare what it would have answered."""
    drifted = scene.fleet.worker(DRIFTED.name)
    honest = scene.honest(STABLE)
    standing = await scene.standing(drifted)
    answers = await scene.client.ask_all(scene.requests(COUNT, **{"X-Model-Preference": STABLE}))
    runtimes = Counter(scene.runtime_of(answer) for answer in answers)
    records = await records_of(scene.fleet.log, {answer.request_id for answer in answers})
    by_it = sum(record["instance"] == drifted.address for record in records)
    return [
        Claim(f"{drifted.address} is {standing.identity}: {standing.cause}", standing.identity == EJECTED),
        Claim(f"the answers carry the DNA of {counted(runtimes)}", runtimes == {STABLE: COUNT}),
        Claim(f"the access records name {drifted.address} in {by_it} of {len(records)}", by_it == 0),
        await _difference(scene, honest, drifted),
    ]


async def _difference(scene: Scene, honest: Worker, drifted: Worker) -> Claim:
    """Ask both past the gateway: this is what clients would have got."""
    right, wrong = await _intents(scene, honest), await _intents(scene, drifted)
    changed = [message for message in scene.messages if right[message.text] != wrong[message.text]]
    lost = [message for message in changed if right[message.text] == message.intent]
    lines = [
        f"asked past the gateway, it answers {len(changed)} of {len(scene.messages)} held-out messages differently;",
        f"{len(lost)} of them were right and now are not, such as",
        *(f"  {message.text!r}: {right[message.text]}, drifted {wrong[message.text]}" for message in lost[:EXAMPLES]),
    ]
    return Claim("\n".join(lines), bool(lost))


async def _intents(scene: Scene, worker: Worker) -> dict[str, str]:
    async with Client(worker.url) as client:
        answers = await client.ask_all(scene.requests(len(scene.messages)))
    return {answer.asked.text: str(answer.body["intent"]) for answer in answers}


ACT = Act(
    "A drifted instance",
    f"What is known of {DRIFTED.name}, which claims {STABLE} and whose tokenizer files were changed; then {COUNT} "
    f"requests for {STABLE}.",
    play,
)
