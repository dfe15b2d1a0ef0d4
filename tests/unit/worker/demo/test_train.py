from __future__ import annotations

from pathlib import Path

import pytest

from worker.demo.recipes import BUNDLES
from worker.demo.train import main, measured

VERSION = "v2.3.1"


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_training_again_gives_the_same_bytes_and_the_committed_accuracy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for attempt in ("first", "second"):
        assert main(["--output", str(tmp_path / attempt), VERSION]) == 0
    first, second = (
        {path.name: path.read_bytes() for path in (tmp_path / attempt / VERSION).iterdir()}
        for attempt in ("first", "second")
    )

    assert first == second
    # Another processor may round differently: then a few messages at the border change sides.
    assert measured(tmp_path / "first" / VERSION).overall == pytest.approx(
        measured(BUNDLES / VERSION).overall, abs=0.015
    )
    assert capsys.readouterr().out.count(f"{VERSION:16} held-out accuracy 0.7") == 2


def test_a_version_without_a_recipe_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LookupError):
        main(["--output", str(tmp_path), "v9.9.9"])
