from pathlib import Path

import pytest

from tools.demo.run_folder import FolderInUse, RunFolder


def test_two_demos_cannot_share_a_folder_and_the_next_may_have_it(tmp_path: Path) -> None:
    with RunFolder(tmp_path / "fleet"):
        with pytest.raises(FolderInUse, match=r"Process \d+ is running a demo in"), RunFolder(tmp_path / "fleet"):
            pass
        with RunFolder(tmp_path / "other"):
            pass
    with RunFolder(tmp_path / "fleet"):
        pass


def test_what_an_earlier_run_left_is_gone_at_the_start_and_readable_after_the_end(tmp_path: Path) -> None:
    with RunFolder(tmp_path) as folder:
        (folder.documents / "contracts").mkdir()
        (folder.logs / "gateway.log").write_text("told")
    assert (tmp_path / "logs" / "gateway.log").read_text() == "told"

    with RunFolder(tmp_path) as folder:
        assert list(folder.documents.iterdir()) == list(folder.logs.iterdir()) == []


def test_only_the_owner_may_look_into_a_new_folder(tmp_path: Path) -> None:
    with RunFolder(tmp_path / "fleet") as folder:
        assert folder.path.stat().st_mode & 0o077 == 0
