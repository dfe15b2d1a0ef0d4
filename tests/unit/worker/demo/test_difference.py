from __future__ import annotations

import pytest

from worker.demo.difference import compare, main
from worker.demo.recipes import BUNDLES
from worker.demo.resave import DRIFTED

STABLE = str(BUNDLES / "v2.4.0")


def test_the_drifted_bundle_loses_more_than_it_gains() -> None:
    found = compare(BUNDLES / "v2.4.0", BUNDLES / DRIFTED)
    lost, gained = (
        sum(facts) for facts in zip(*((pair.is_lost, pair.is_gained) for pair in found.changed), strict=True)
    )

    assert found.asked == 280
    assert lost > gained > 0
    assert found.second.overall == pytest.approx(found.first.overall - (lost - gained) / 280)
    assert all(pair.message.lang == "en" for pair in found.changed)


def test_a_bundle_does_not_differ_from_itself() -> None:
    found = compare(BUNDLES / "v2.4.0", BUNDLES / "v2.4.0")

    assert (found.changed, found.reworded) == ((), 0)


def test_the_command_shows_examples_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([STABLE, str(BUNDLES / DRIFTED), "--examples", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()

    assert "280 held-out messages" in lines[0]
    assert lines[2].split()[0] == "v2.4.0"
    assert lines[3].split()[0] == DRIFTED
    assert len(lines) == 4 + 2 * 3


def test_what_was_right_comes_first(capsys: pytest.CaptureFixture[str]) -> None:
    main([STABLE, str(BUNDLES / DRIFTED), "--examples", "1"])
    message, first, second = capsys.readouterr().out.splitlines()[4:]
    intent = message.rpartition(" is ")[2]

    assert first.split()[:2] == ["v2.4.0", intent]
    assert second.split()[1] != intent


def test_no_difference_is_status_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([STABLE, STABLE]) == 1
    assert "0 answered differently" in capsys.readouterr().out
