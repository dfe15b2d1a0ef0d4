from __future__ import annotations

from pathlib import Path

import pytest

from inference_dna.measure.file_lock import locked


def test_one_holder_at_a_time(tmp_path: Path) -> None:
    with locked(tmp_path / "lock", wait_s=0) as first, locked(tmp_path / "lock", wait_s=0.1) as second:
        assert (first, second) == (True, False)
    with locked(tmp_path / "lock", wait_s=0) as third:
        assert third


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "lock").symlink_to("other")

    with pytest.raises(OSError, match="symbolic links"), locked(tmp_path / "lock", wait_s=0):
        pass
    assert not (tmp_path / "other").exists()
