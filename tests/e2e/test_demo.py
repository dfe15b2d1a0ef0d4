"""`make demo`: the tour, and that it fails when something it says is not so."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.demo_process import DemoProcess, demo_environment, processes_with
from tools.demo.act import Act, Claim
from tools.demo.acts.pinned import ACT as PINNED
from tools.demo.fleet import Fleet
from tools.demo.scene import Scene
from tools.demo.stage import perform
from tools.demo.tour import ACTS, tour

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def test_make_demo_shows_every_act_and_leaves_no_process(tmp_path: Path) -> None:
    with DemoProcess(tmp_path, ("make", "demo")) as demo:
        status = demo.wait(seconds=240)

        assert status == 0, demo.output
        assert sum("verdict   shown" in line for line in demo.lines) == len(ACTS)
        said = re.search(r"(\d+) of \d+ acts showed what they say, in \d+ s", demo.output)
        assert said is not None
        assert int(said[1]) == len(ACTS)
        assert processes_with(tmp_path) == []


def test_one_act_that_does_not_show_what_it_says_fails_the_tour(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    async def vain(scene: Scene) -> Sequence[Claim]:
        return [Claim(f"the sky is blue above {len(scene.messages)} messages", True), Claim("pigs fly", False)]

    async def play(fleet: Fleet) -> int:
        return await tour(fleet, [Act("Pigs", "Nothing.", vain), PINNED])

    environment = demo_environment(tmp_path)
    status = perform(play, name="demo", log_format="json", when_told_to_stop=130, environment=environment)

    said = capfd.readouterr().out
    assert status == 1
    assert "BUT       pigs fly" in said
    assert "NOT SHOWN" in said
    assert "1 of 2 acts showed what they say" in said
